"""Memory of what is saved for the gradient: kept from call to call, and whatever it holds."""

import gc
import itertools
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.kernels import native
from elasticgnn.operator import saved_rows
from elasticgnn.operator.saved_rows import LARGE, MemoryLimitError, SavedRows, pool
from marks import needs_kernels
from strategies import normal_rows, random_graph

pytestmark = [
    needs_kernels,
    pytest.mark.skipif(not saved_rows.CAN_LEND, reason="only Linux takes memory that is lent"),
]
PENALTY = ElasticPenalty(0.01, 1.0)  # small beside the rows: most of them are active


@pytest.fixture(autouse=True)
def no_blocks():
    gc.collect()
    pool.clear()
    yield
    pool.clear()


@pytest.fixture
def made(monkeypatch):
    """The sizes of the blocks that are made."""
    sizes, make = [], saved_rows.Block.__init__

    def count(block, size):
        sizes.append(size)
        make(block, size)

    monkeypatch.setattr(saved_rows.Block, "__init__", count)
    return sizes


def gradient(width):
    x = normal_rows(3000, width).float().requires_grad_()
    out = elastic_message_passing(x, random_graph(3000, 20_000), PENALTY, 10)
    return torch.autograd.grad(out.square().sum(), x)[0]


@pytest.mark.parametrize("width", [8, 40], ids=["packed", "wide"])
def test_a_second_call_takes_the_blocks_of_the_first(made, width):
    gradient(width)
    first = [size for size in made if size >= LARGE]
    assert sum(first) > 4 * LARGE
    assert pool.count_bytes() == sum(first)
    made.clear()
    gradient(width)
    assert not [size for size in made if size >= LARGE]


@pytest.mark.parametrize("width", [8, 40], ids=["packed", "wide"])
def test_what_a_kept_block_held_does_not_matter(width):
    wanted = gradient(width)
    blocks = [block for blocks in pool.free.values() for block in blocks]
    assert blocks
    for block in blocks:
        block.bytes.fill_(255)  # every float32 is NaN
    assert torch.equal(gradient(width), wanted)


def test_blocks_of_a_graph_that_is_alive_are_not_handed_out_again():
    first, second = SavedRows(0, LARGE), SavedRows(0, LARGE)
    places = [rows.blocks[0].bytes.data_ptr() for rows in (first, second)]
    assert places[0] != places[1]
    del first
    assert SavedRows(0, LARGE).blocks[0].bytes.data_ptr() == places[0]


def test_no_more_is_kept_than_may_be(monkeypatch):
    monkeypatch.setattr(native.tuning, "reclaimable_bytes", 3 * saved_rows.LARGEST)
    rows = [SavedRows(0, saved_rows.LARGEST) for _ in range(5)]
    del rows
    assert pool.count_bytes() == 3 * saved_rows.LARGEST


def small_call():
    """Asks for more than its first block holds when nothing is known of it."""
    rows = SavedRows(10, 100)
    for count in (70_000, 150_000, 300_000):
        rows.more(count)
    return rows


def test_a_second_small_call_takes_one_block_and_a_third_no_new_one(made):
    small_call()
    assert len(made) == 4
    assert len(small_call().blocks) == 1
    made.clear()
    assert len(small_call().blocks) == 1
    assert made == []


def test_small_blocks_are_few_and_are_not_lent():
    rows = [small_call() for _ in range(3)]
    assert all(block.pages is None for row in rows for block in row.blocks)
    del rows
    assert pool.count_bytes() == 0
    assert len(pool.small) == saved_rows.SMALL_BLOCKS


def test_a_small_block_in_use_is_not_handed_out_again():
    small_call()
    first, second = small_call(), small_call()
    assert first.blocks[0].address != second.blocks[0].address


def test_what_small_calls_used_is_not_remembered_without_end():
    for marks in range(1, 2 * saved_rows.SMALL_CALLS):
        SavedRows(1, marks)
    assert 0 < len(pool.expected) <= saved_rows.SMALL_CALLS


def test_a_small_call_that_grows_large_goes_on_in_larger_blocks():
    small_call()
    rows = small_call()
    places = [rows.more(LARGE), rows.more(1000)]
    assert len(rows.blocks) >= 2
    assert len(set(places)) == 2


@pytest.fixture
def threads_that_alternate():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("threads_that_alternate")
def test_pieces_that_threads_ask_for_at_a_time_do_not_overlap():
    rows = SavedRows(4, 100)
    with ThreadPoolExecutor(8) as pool:
        sizes = [1000 + 37 * k for k in range(4000)]
        pieces = list(pool.map(rows.more, sizes))
    spans = sorted((begin, begin + size) for begin, size in zip(pieces, sizes, strict=True))
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    own = [(block.address, block.address + block.size) for block in rows.blocks]
    assert all(any(low <= a and b <= high for low, high in own) for a, b in spans)
    assert all(begin % saved_rows.ALIGNMENT == 0 for begin, _ in spans)


def test_a_piece_beyond_the_limit_is_refused():
    rows = SavedRows(0, 100, limit=1100)
    rows.more(1000)
    with pytest.raises(MemoryLimitError):
        rows.more(1)


def test_a_system_that_takes_no_advice_gets_its_memory_back(monkeypatch):
    monkeypatch.setattr(saved_rows, "_advise", lambda pages, advice: False)
    SavedRows(0, LARGE)
    assert pool.count_bytes() == 0


def test_pages_that_cannot_be_had_are_a_memory_error():
    with pytest.raises(MemoryError, match="rows of the gradient"):
        SavedRows(0, 1 << 60)
