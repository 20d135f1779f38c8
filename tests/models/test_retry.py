from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.models.base import (
    AuthFailed,
    BadRequest,
    ConnectionFailed,
    ContextTooLong,
    EmptyAnswer,
    ImageRejected,
    ModelError,
    ModelNotFound,
    NotTheApi,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    StreamDropped,
    StreamStalled,
)
from tui.models.retry import MAX_ATTEMPTS, MAX_BACKOFF, Stop, Wait, decide

NEVER = [AuthFailed, BadRequest, ContextTooLong, ImageRejected, ModelNotFound, NotTheApi, QuotaExceeded]
AGAIN = [ConnectionFailed, Overloaded, RateLimited, StreamDropped, StreamStalled]


@pytest.mark.parametrize("kind", NEVER)
def test_permanent_errors_are_never_tried_again(kind: type[ModelError]) -> None:
    assert isinstance(decide(kind("no"), 1, 0.5, 0), Stop)


@pytest.mark.parametrize("kind", AGAIN)
def test_passing_errors_are_tried_five_times(kind: type[ModelError]) -> None:
    decisions = [decide(kind("no"), attempt, 0.5, 100) for attempt in range(1, MAX_ATTEMPTS + 1)]
    assert [isinstance(one, Wait) for one in decisions] == [True] * 4 + [False]


def test_waits_grow_and_carry_the_time_they_end() -> None:
    waits = [decide(Overloaded("no"), attempt, 0.0, 100) for attempt in range(1, 5)]
    assert waits == [Wait(0.5, 100.5, 2), Wait(1.0, 101.0, 3), Wait(2.0, 102.0, 4), Wait(4.0, 104.0, 5)]


@given(st.integers(1, MAX_ATTEMPTS - 1), st.floats(0, 1, exclude_max=True), st.floats(0, 600))
def test_the_servers_figure_is_a_lower_bound(attempt: int, random: float, asked: float) -> None:
    made = decide(RateLimited("slow down", retry_after=asked), attempt, random, 0)
    assert isinstance(made, Wait)
    assert made.seconds >= asked
    assert made.seconds <= max(asked + 1, MAX_BACKOFF)


def test_an_hour_is_left_to_a_person() -> None:
    assert decide(RateLimited("no", retry_after=3600), 1, 0, 0) == Stop(
        "The server asks to wait 60 minutes: go on with it then."
    )


def test_an_empty_answer_is_tried_once_more() -> None:
    assert isinstance(decide(EmptyAnswer("nothing"), 1, 0, 0), Wait)
    assert isinstance(decide(EmptyAnswer("nothing"), 2, 0, 0), Stop)


@pytest.mark.parametrize("kind", [StreamDropped, StreamStalled])
def test_a_half_answer_is_not_thrown_away_for_a_retry(kind: type[ModelError]) -> None:
    assert isinstance(decide(kind("no"), 1, 0, 0, partial=True), Stop)


def test_an_overload_inside_the_stream_is_treated_like_one_before_it() -> None:
    assert isinstance(decide(Overloaded("no"), 1, 0, 0, partial=True), Wait)
