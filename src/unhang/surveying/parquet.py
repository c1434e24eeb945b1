"""Writes the records as Parquet, for DuckDB, Polars, pandas and Spark."""

from __future__ import annotations

from pathlib import Path

from unhang.errors import UsageError


def write_parquet(records: Path, to: Path) -> None:
    """Write `jobs.jsonl` as Parquet, a row for each job.

    Raises:
        UsageError: the extra is missing, or `to` cannot be written.
    """
    try:
        import duckdb
    except ImportError as error:
        raise UsageError(
            "Parquet needs DuckDB (pip install 'unhang[fleet]'); the store's jobs.jsonl is the same"
        ) from error
    with duckdb.connect() as connection:
        try:
            rows = connection.read_json(str(records), format="newline_delimited")
            rows.write_parquet(str(to))
        except duckdb.Error as error:
            raise UsageError(f"cannot write {to}: {str(error)[:200]}") from error
