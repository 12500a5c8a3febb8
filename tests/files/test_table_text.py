"""Tables as text for other programs."""

import csv
import io

from elasticgnn.files import csv_text


def test_cells_come_back_whatever_they_hold():
    rows = [["a,b", 'say "x"'], ["line\nbreak", 1.5]]
    text = csv_text(["one", "two"], rows)
    assert text.startswith("one,two\n")
    assert "\r" not in text
    back = list(csv.reader(io.StringIO(text, newline="")))
    assert back[1:] == [["a,b", 'say "x"'], ["line\nbreak", "1.5"]]
