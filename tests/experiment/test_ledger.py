"""The ledger: what is planned twice is trained once, and the dead lose their claims."""

import subprocess
import sys

import pytest

from elasticgnn.experiment.ledger import Ledger, spans
from elasticgnn.experiment.liveness import Watch, start_of, worker_identity
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.storage import open_storage, storage_url
from made_up_records import made_up_record

ONE, TWO = Setting(lambda1=0.0, lambda2=float("inf")), Setting(attention_dropout=0.5)


@pytest.fixture
def ledger(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    return Ledger(open_storage(url), url, "study", Watch(grace=600))


def tell(ledger, claim):
    ledger.tell(claim, [made_up_record(run) for run in claim.runs], {"python": "3"})


def test_planned_runs_are_claimed_stored_and_read_back(ledger):
    ledger.plan({ONE: 2, TWO: 2})
    claims = ledger.claim(max_runs=10)
    assert {(claim.setting, claim.runs) for claim in claims} == {(ONE, range(2)), (TWO, range(2))}
    for claim in claims:
        tell(ledger, claim)
    assert {s: sorted(runs) for s, runs in ledger.records().items()} == {ONE: [0, 1], TWO: [0, 1]}


def test_only_missing_runs_are_planned(ledger):
    ledger.plan({ONE: 1})
    tell(ledger, ledger.claim(10)[0])
    ledger.plan({ONE: 3})
    ledger.plan({ONE: 3})
    assert [claim.runs for claim in ledger.claim(10)] == [range(1, 3)]


def test_a_claim_stops_at_the_number_of_runs_asked_for(ledger):
    ledger.plan({Setting(lambda1=float(index)): 2 for index in range(6)})
    assert len(ledger.claim(max_runs=3)) == 2
    assert len(ledger.claim(max_runs=100)) == 4


def test_what_two_workers_planned_at_once_is_trained_once(ledger):
    for _ in range(2):
        ledger.enqueue(ONE, 0, 2)
    assert len(ledger.claim(10)) == 1
    assert ledger.claim(10) == []


def test_a_claim_of_a_living_process_is_left_alone(ledger):
    ledger.plan({ONE: 1})
    ledger.claim(1)
    ledger.plan({ONE: 1})
    assert ledger.claim(1) == []


def test_the_claim_of_a_dead_process_is_planned_again(ledger):
    ledger.plan({ONE: 1})
    claim = ledger.claim(1)[0]
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    gone = {**worker_identity(), "pid": int(child.stdout), "start": "1"}
    ledger.set_attribute(claim, "worker", gone)
    ledger.plan({ONE: 1})
    again = ledger.claim(1)
    assert [(c.setting, c.runs) for c in again] == [(ONE, range(1))]
    tell(ledger, claim)  # the old holder comes back to life: its words change nothing
    tell(ledger, again[0])
    assert len(ledger.records()[ONE]) == 1


def test_finished_runs_of_a_killed_worker_are_kept(ledger):
    ledger.plan({ONE: 4})
    claim = ledger.claim(1)[0]
    ledger.keep(claim, [made_up_record(0), made_up_record(2)], {"python": "3"})
    assert sorted(ledger.records()[ONE]) == [0, 2]
    ledger.set_attribute(claim, "worker", {**worker_identity(), "start": "1"})  # killed
    ledger.plan({ONE: 4})
    assert [list(claim.runs) for claim in ledger.claim(10)] == [[1], [3]]
    assert sorted(ledger.records()[ONE]) == [0, 2]
    assert ledger.environments() == [{"python": "3"}]


def test_runs_that_were_not_claimed_are_refused(ledger):
    ledger.plan({ONE: 2})
    claim = ledger.claim(1)[0]
    with pytest.raises(ValueError, match=r"records must be of the runs range\(0, 2\), got others"):
        ledger.keep(claim, [made_up_record(2)], {"python": "3"})
    assert not ledger.records()


def test_a_sign_of_life_reaches_the_storage_while_a_claim_is_held(ledger):
    ledger.plan({ONE: 1, TWO: 1})
    first, second = ledger.claim(10)
    tell(ledger, first)
    ledger.beat([first, second], 7)  # of what is told already nothing is said
    beats = {t.number: t.user_attrs.get("beat") for t in ledger.trials()}
    assert beats == {first.number: None, second.number: 7}


def test_a_process_number_that_was_given_again_is_no_sign_of_life():
    watch = Watch()
    me = worker_identity(watch.token)
    assert not watch.is_dead(0, {"worker": me})
    assert watch.is_dead(0, {"worker": {**me, "start": "12"}})
    assert start_of(2**22 + 1) == ""
    assert Watch().is_dead(0, {"worker": me})  # an earlier worker of this process, which failed


def test_silence_on_another_machine_is_measured_on_the_watchers_clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("elasticgnn.experiment.liveness.time.monotonic", lambda: now[0])
    watch, other = Watch(grace=100), {"host": "elsewhere", "pid": 1, "start": "1"}
    assert not watch.is_dead(5, {"worker": other, "beat": 1})
    now[0] = 90.0
    assert not watch.is_dead(5, {"worker": other, "beat": 2})
    now[0] = 180.0
    assert not watch.is_dead(5, {"worker": other, "beat": 2})
    now[0] = 191.0
    assert watch.is_dead(5, {"worker": other, "beat": 2})


def test_records_of_other_runs_than_claimed_are_refused(ledger):
    ledger.plan({ONE: 2})
    claim = ledger.claim(10)[0]
    with pytest.raises(ValueError, match="records must be of the runs"):
        ledger.tell(claim, [made_up_record(0)], {})


def test_spans_are_maximal():
    assert spans([0, 1, 4, 6, 7]) == [(0, 2), (4, 5), (6, 8)]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("some/trials.db", "sqlite:///some/trials.db"),
        ("sqlite:///x.db", "sqlite:///x.db"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg://u@h/d"),
    ],
)
def test_a_storage_may_be_named_in_several_ways(text, url):
    assert storage_url(text) == url


def test_a_storage_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="storage must be a file, sqlite:/// or postgresql://"):
        storage_url("mysql://host/data")


def test_a_server_that_is_not_there_is_one_clear_sentence():
    with pytest.raises(OSError, match="storage cannot be reached"):
        open_storage("postgresql+psycopg://nobody@127.0.0.1:9/none")
