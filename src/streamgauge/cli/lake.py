"""``streamgauge lake``: look at what was measured, and keep it in order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from streamgauge.cli.lake_quarantine import quarantine
from streamgauge.cli.lake_query import query
from streamgauge.cli.open_lake import Limit, Place, open_lake
from streamgauge.cli.options import AsJson
from streamgauge.cli.output import print_document, print_table, say, warn
from streamgauge.drawing.wording import count

app = typer.Typer(help="Show what was measured, and maintain the lake.", no_args_is_help=True)

OneTable = Annotated[str | None, typer.Option("--table", help="Only this table.")]

_BYTES_PER_MEBIBYTE = 2**20


@app.command()
def info(lake: Place, limit: Limit = 20, as_json: AsJson = False) -> None:
    """Show what the lake holds: tables, topologies, quarantine, sources."""
    with open_lake(lake) as opened:
        from streamgauge.lake import contents
        from streamgauge.lake.quarantine import count_lines

        tables = contents.tables_of(opened)
        total, topologies = contents.topologies_of(opened, limit or None)
        reasons = {key[0]: n for key, n in count_lines(opened, by=("reason",))}
        sources = contents.sources_of(opened)
    if as_json:
        print_document(
            {
                "lake": opened.uri,
                "tables": [table.to_dict() for table in tables],
                "topology_count": total,
                "topologies": [topology.to_dict() for topology in topologies],
                "quarantine": reasons,
                "sources": sources.to_dict(),
            }
        )
        return
    from streamgauge.reports import lake as said

    print(opened.uri)
    print_table(said.tabulate_tables(tables))
    print_table(said.tabulate_topologies(total, topologies))
    print_table(said.tabulate_reasons(reasons, "Quarantine"))
    print(f"\n{said.describe_sources(sources)}")
    warn(
        f"{table.name}: {table.spare_files:,} of {table.files:,} files are small and could be"
        f" merged: `streamgauge lake compact --table {table.name} --lake {opened.uri}`"
        for table in tables
        if table.is_scattered
    )


@app.command()
def compact(
    lake: Place,
    table: OneTable = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="Only the last N days that a table has.")
    ] = None,
    target_size: Annotated[int, typer.Option(min=1, help="Target size of a file, in MiB.")] = 128,
    as_json: AsJson = False,
) -> None:
    """Merge small files into large ones; the rows stay the same, and ingests may go on."""
    with open_lake(lake) as opened:
        from streamgauge.lake import upkeep

        size = target_size * _BYTES_PER_MEBIBYTE
        done = [
            upkeep.compact(lake_table, days=days, target_bytes=size, say=say)
            for lake_table in opened.tables(table)
        ]
    if as_json:
        print_document({"compact": [table.to_dict() for table in done]})
        return
    from streamgauge.reports.lake import tabulate_compaction

    print_table(tabulate_compaction(done))
    if any(table.rows for table in done):
        say("old files stay until `streamgauge lake vacuum` removes them")


@app.command()
def vacuum(
    lake: Place,
    older_than: Annotated[
        float, typer.Option(help="Hours for which old versions and unfinished work are kept.")
    ] = 168.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Allow less than an hour; no other process may use the lake."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove files that no kept version needs, and what killed ingests left behind."""
    with open_lake(lake) as opened:
        from streamgauge.lake import leftovers

        leftovers.check_retention(older_than, force=force)
        cutoff = leftovers.cutoff_of(datetime.now(UTC), older_than)
        files = leftovers.find_leftovers(opened, cutoff)
        folders = 0 if dry_run else leftovers.remove_leftovers(opened, files, cutoff)
    if as_json:
        detail = {"older_than_hours": older_than, "dry_run": dry_run, "folders": folders}
        print_document({"vacuum": {**detail, "files": [file.to_dict() for file in files]}})
        return
    from streamgauge.reports.lake import tabulate_leftovers

    print_table(tabulate_leftovers(files, dry_run=dry_run))
    if not files:
        print("nothing to remove")
    if folders:
        say(f"{count(folders, 'empty folder')} removed")


@app.command()
def repair(
    lake: Place,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what is damaged, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take damaged files out of the lake, so that the next ingest reads their sources again."""
    from streamgauge.lake.repair import repair as run
    from streamgauge.lake.tables import Lake

    opened = Lake(lake)
    done = run(opened, dry_run=dry_run)
    if as_json:
        print_document({"repair": {"dry_run": dry_run, **done.to_dict()}})
        return
    if not done.damage:
        print("no damaged files")
        return
    from streamgauge.reports.lake import advise_after_repair, tabulate_damage

    print_table(tabulate_damage(done, dry_run=dry_run))
    for line in advise_after_repair(opened.uri, done, dry_run=dry_run):
        say(line)
    warn(f"{source}: no such file; rows that only it held are lost" for source in done.gone)


@app.command()
def history(
    lake: Place, table: OneTable = None, limit: Limit = 20, as_json: AsJson = False
) -> None:
    """Show the versions of tables: when, by what, how many rows and files came and went."""
    with open_lake(lake) as opened:
        from streamgauge.lake import upkeep

        changes = [
            (lake_table.table.name, change)
            for lake_table in opened.tables(table)
            for change in upkeep.history(lake_table, limit or None)
        ]
    changes.sort(key=lambda named: (named[1].time, named[1].version), reverse=True)
    listed = changes[: limit or None]
    if as_json:
        print_document({"history": [{"table": name} | change.to_dict() for name, change in listed]})
        return
    from streamgauge.reports.lake import tabulate_history

    print_table(tabulate_history(listed))


app.command()(query)
app.command()(quarantine)
