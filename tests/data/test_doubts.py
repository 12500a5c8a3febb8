"""What a table may not have meant is refused or said, never taken silently."""

import itertools

import pandas
import pytest

from elasticgnn.data import read_task
from elasticgnn.data.own import arrow_csv

PAIRS = [("p1", "p2"), ("p2", "p3"), ("p3", "p1"), ("p1", "p4")]
IDS = [f"p{k}" for k in range(1, 13)]
CHAIN = "source,target\n" + "".join(f"p{k},p{k + 1}\n" for k in range(1, 12))


def read(folder, **files):
    paths = {}
    for name, text in files.items():
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text(text)
    return read_task(**paths)


def rows(header, cells):
    return f"{header}\n" + "".join(f"{','.join(map(str, row))}\n" for row in cells)


def test_a_time_below_a_header_is_no_weight(tmp_path):
    cells = [(a, b, 1_600_000_000 + k) for k, (a, b) in enumerate(PAIRS)]
    task = read(tmp_path, edges=rows("buyer,seller,day", cells))
    assert task.graph.weight.tolist() == [1.0] * 4
    assert "edges.csv: columns not used: 'day'" in task.notes


def test_a_weight_is_found_by_its_name_among_unknown_ones(tmp_path):
    cells = [(a, b, 2.5) for a, b in PAIRS]
    task = read(tmp_path, edges=rows("buyer,seller,weight", cells))
    assert task.graph.weight.tolist() == [2.5] * 4


@pytest.mark.parametrize("quick", [False, True])
def test_a_third_column_without_a_header_is_said_to_be_the_weight(tmp_path, monkeypatch, quick):
    if quick:
        monkeypatch.setattr(arrow_csv.open_plain, "__kwdefaults__", {"smallest": 1})
    task = read(tmp_path, edges="1,2,1600000000\n2,3,1600000001\n")
    note = "edges.csv: column 3 is read as the weight (1.6e+09 to 1.6e+09)"
    assert note in task.notes


@pytest.mark.parametrize("first", ["edge_id", "transaction"])
def test_ids_of_rows_are_not_taken_for_nodes(tmp_path, first):
    cells = [(f"t{k}", a, b) for k, (a, b) in enumerate(PAIRS)]
    with pytest.raises(ValueError, match="--source-column and --target-column say which"):
        read(tmp_path, edges=rows(f"{first},payer,payee", cells))


def test_the_row_numbers_of_pandas_are_no_end_of_an_edge(tmp_path):
    cells = [(k, a, b) for k, (a, b) in enumerate(PAIRS)]
    task = read(tmp_path, edges=rows(",payer,payee", cells))
    assert sorted(task.node_ids) == ["p1", "p2", "p3", "p4"]


def test_weights_that_are_all_zero_are_refused(tmp_path):
    cells = [(a, b, 0) for a, b in PAIRS]
    with pytest.raises(ValueError, match="must have a weight above 0, got only 0"):
        read(tmp_path, edges=rows("source,target,weight", cells))


@pytest.mark.parametrize("word", ["unknown", "Unlabeled", "#N/A"])
def test_the_word_unknown_is_no_class(tmp_path, word):
    labels = rows("id,label", [(name, [word, "1", "2"][k % 3]) for k, name in enumerate(IDS)])
    task = read(tmp_path, edges=CHAIN, labels=labels)
    assert task.class_names == ("1", "2")
    assert len(task.labelled) == 8
    assert f"labels.csv: 4 labels {word!r} are read as not known, not as a class" in task.notes


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (["yes", "no", "Yes"], "labels 'Yes' and 'yes' are read as two classes"),
        (["-1", "0", "1"], "label '-1' is read as a class (leave the cell empty"),
        (["-", "a", "b"], "label '-' is read as a class (leave the cell empty"),
    ],
)
def test_classes_that_may_not_be_meant_are_said(tmp_path, names, note):
    labels = rows("id,label", [(name, names[k % 3]) for k, name in enumerate(IDS)])
    task = read(tmp_path, edges=CHAIN, labels=labels)
    assert len(task.class_names) == 3
    assert any(note in written for written in task.notes)


@pytest.mark.parametrize("names", [("-1", "1"), ("-", "+")])
def test_two_classes_minus_and_plus_are_usual(tmp_path, names):
    labels = rows("id,label", [(name, names[k % 2]) for k, name in enumerate(IDS)])
    task = read(tmp_path, edges=CHAIN, labels=labels)
    assert not any("is read as a class" in note for note in task.notes)


@pytest.mark.parametrize("file", ["edges", "labels"])
def test_ids_that_are_written_otherwise_throughout_are_shown_both(tmp_path, file):
    numbers = range(10, 22)
    features = rows("id,x", [(k, k % 5) for k in numbers])
    edges = [(k, k + 1) for k in numbers[:-1]]
    labels = [(k, "ab"[k % 2]) for k in numbers]
    if file == "edges":
        edges = [(f"{a}.0", f"{b}.0") for a, b in edges]
    else:
        labels = [(f"{k}.0", label) for k, label in labels]
    with pytest.raises(ValueError, match=r"the first is '10\.0' \(there is '10'\)"):
        read(
            tmp_path,
            edges=rows("source,target", edges),
            features=features,
            labels=rows("id,label", labels),
        )


def test_a_sheet_of_one_column_is_not_said_to_lack_commas(tmp_path):
    path = tmp_path / "edges.xlsx"
    pandas.DataFrame({"exported": ["2024", "2025"]}).to_excel(path, index=False)
    with pytest.raises(ValueError, match=r"row 1: columns must be two or more in the sheet, got"):
        read_task(path)


@pytest.mark.parametrize("ids", [IDS, [letter * 3 for letter in "abcdefghijkl"]])
def test_labels_below_a_header_of_unknown_names_are_read(tmp_path, ids):
    edges = rows("source,target", itertools.pairwise(ids))
    labels = rows("account,fraud", [(name, k % 2) for k, name in enumerate(ids)])
    task = read(tmp_path, edges=edges, labels=labels)
    assert (task.class_names, len(task.labelled)) == (("0", "1"), 12)


def test_a_label_among_many_columns_is_asked_for_by_its_option(tmp_path):
    labels = rows("id,days,fraud", [(name, k, k % 2) for k, name in enumerate(IDS)])
    with pytest.raises(ValueError, match=r"--label-column says which it is.*'id, days, fraud'"):
        read(tmp_path, edges=CHAIN, labels=labels)


def test_a_label_of_a_node_without_features_names_their_file(tmp_path):
    features = rows("id,x", [(name, k) for k, name in enumerate(IDS)])
    labels = rows("id,label", [*((name, k % 2) for k, name in enumerate(IDS)), ("zz", 1)])
    with pytest.raises(ValueError, match=r"the node must be in .*features\.csv, got 'zz'"):
        read(tmp_path, edges=CHAIN, features=features, labels=labels)


def test_nodes_without_an_edge_are_counted(tmp_path):
    features = rows("id,x", [(name, k) for k, name in enumerate([*IDS, "q1", "q2"])])
    task = read(tmp_path, edges=CHAIN, features=features)
    assert "edges.csv: 2 of 14 nodes have no edge" in task.notes


@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_a_feature_that_is_the_label_is_warned_of(tmp_path, scale):
    cells = [(name, k, scale * (k % 2), k % 5 / 3) for k, name in enumerate(IDS)]
    features = rows("id,size,verdict,noise", cells)
    labels = rows("id,label", [(name, "ab"[k % 2]) for k, name in enumerate(IDS)])
    task = read(tmp_path, edges=CHAIN, features=features, labels=labels)
    warning = next(note for note in task.notes if note.startswith("WARNING"))
    assert "feature 'verdict' alone tells the known classes apart" in warning


def test_a_word_that_is_one_of_three_classes_is_warned_of(tmp_path):
    ids = [f"p{k}" for k in range(1, 31)]
    edges = rows("source,target", itertools.pairwise(ids))
    cells = [(name, "uvw"[k % 3], "xyz"[k % 7 % 3]) for k, name in enumerate(ids)]
    labels = rows("id,label", [(name, "abc"[k % 3]) for k, name in enumerate(ids)])
    task = read(tmp_path, edges=edges, features=rows("id,kind,other", cells), labels=labels)
    warning = next(note for note in task.notes if note.startswith("WARNING"))
    assert "'kind=u', 'kind=v', 'kind=w' alone" in warning


def test_a_number_to_predict_beyond_any_sum_is_refused(tmp_path):
    path = tmp_path / "values.csv"
    path.write_text(
        rows("id,price", [(name, 1e300 if k == 2 else k) for k, name in enumerate(IDS)])
    )
    (tmp_path / "edges.csv").write_text(CHAIN)
    with pytest.raises(ValueError, match=r"row 4, column 'price': a target must be .* '1e\+300'"):
        read_task(tmp_path / "edges.csv", labels=path, target="number")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ann", "ann"), ("caf\u00e9", "cafe\u0301"), ("x", "x\u200b"), ("a b", "a  b")],
)
def test_ids_that_look_alike_are_said_to_be_two_nodes(tmp_path, one, other):
    task = read(tmp_path, edges=f"source,target\n{one},bob\n{other},cy\nbob,cy\n")
    assert task.num_nodes == 4
    (note,) = (note for note in task.notes if "two nodes" in note)
    assert one in note or ascii(one) in note
    assert other in note or ascii(other) in note


def test_ids_that_do_not_look_alike_are_not_spoken_of(tmp_path):
    task = read(tmp_path, edges="source,target\nann,bob\nanna,cy\nbob,cy\n")
    assert not any("two nodes" in note for note in task.notes)


def test_ids_that_a_spreadsheet_has_rounded_are_warned_of(tmp_path):
    task = read(tmp_path, edges="source,target\n1.23E+12,bob\n1.23E+12,cy\nbob,cy\n")
    assert any("WARNING: id '1.23E+12' looks rounded" in note for note in task.notes)


@pytest.mark.parametrize("base", [0, 2**24])
def test_numbers_that_float32_holds_apart_are_taken_without_a_word(tmp_path, base):
    cells = [(name, base + 1000 * k) for k, name in enumerate(IDS)]
    task = read(tmp_path, edges=CHAIN, features=rows("id,size", cells))
    assert not any("too near" in note for note in task.notes)


def test_words_for_nothing_among_numbers_to_predict_are_said(tmp_path):
    (tmp_path / "edges.csv").write_text(CHAIN)
    (tmp_path / "labels.csv").write_text("id,label\np1,1.5\np2,NA\np3,none\np4,4\n")
    task = read_task(tmp_path / "edges.csv", None, tmp_path / "labels.csv", target="number")
    assert int((~task.values.isnan()).sum()) == 2
    assert any("2 labels 'NA' and 'none' are read as not known" in note for note in task.notes)
