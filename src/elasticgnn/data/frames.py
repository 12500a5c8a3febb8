"""Tables of signals as frames: CSV, TSV, Parquet and workbooks."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticgnn.data.own.sheet import read_cells
from elasticgnn.data.own.table import open_parquet
from elasticgnn.data.own.text import PACKED, read_bytes, table_ending
from elasticgnn.extras import optional_imports
from elasticgnn.files import first_line

if TYPE_CHECKING:
    import pandas as pd

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
# what pandas raises where the file's own notes for pandas are damaged
DAMAGED_NOTES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def read_table(path: Path) -> "pd.DataFrame":
    """The pandas frame in a table: text (packed or not), Parquet or Excel."""
    with optional_imports():
        import pandas as pd

    kind = table_ending(path)
    if kind not in TABLES:
        raise ValueError(f"file must end in {', '.join((*TABLES, '.npy', *IMAGES))}, got {path}")
    try:
        if kind == ".parquet":
            return parquet_frame(path)
        if kind == ".xlsx":
            return sheet_frame(path)
        packed = path.suffix.lower() in PACKED
        return pd.read_csv(BytesIO(read_bytes(path)) if packed else path, sep=SEPARATORS[kind])
    except pd.errors.ParserError as error:
        raise ValueError(f"{path} is not a readable table: {error}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8 text, got: {error}") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} must have a header and rows, got an empty file") from None


def sheet_frame(path: Path) -> "pd.DataFrame":
    """The first filled sheet of a workbook; a column of numbers is one of numbers."""
    with optional_imports():
        from pandas.io.parsers import TextParser

    rows = read_cells(path)[0]
    whole = [[excel_value(value) for value in cells] for cells in rows]
    frame: pd.DataFrame = TextParser(whole, header=0).read()
    return frame


def excel_value(value: Any) -> Any:
    """A cell's value as a CSV file would have it: "" for none, whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return "" if value is None else value


def parquet_frame(path: Path) -> "pd.DataFrame":
    """A Parquet file as pandas would have it, by the notes that pandas left in it."""
    content = open_parquet(path)
    try:
        frame: pd.DataFrame = content.to_pandas()
    except DAMAGED_NOTES as error:
        raise ValueError(f"{path} must be a Parquet file, got: {first_line(error)}") from None
    return frame
