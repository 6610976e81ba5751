"""Tasks by their number: what they return, in which order, and what becomes of an error."""

import pytest
from pyspark.sql import SparkSession

from kcompact.engine.failures import explained
from kcompact.engine.tasks import run_tasks
from kcompact.errors import InputError

pytestmark = pytest.mark.spark


def test_results_come_in_the_order_of_the_tasks(spark: SparkSession) -> None:
    assert run_tasks(spark, 5, lambda task: f"did {task}") == [f"did {task}" for task in range(5)]


def test_without_tasks_nothing_is_done(spark: SparkSession) -> None:
    assert run_tasks(spark, 0, lambda task: 1 // task) == []


def test_an_error_of_ours_comes_back_with_its_hint(spark: SparkSession) -> None:
    def fail(task: int) -> None:
        raise InputError(f"line {task + 1} is no record", hint="look at it")

    with pytest.raises(InputError) as caught, explained():
        run_tasks(spark, 1, fail)
    assert (caught.value.message, caught.value.hint) == ("line 1 is no record", "look at it")
