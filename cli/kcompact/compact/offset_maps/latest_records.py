"""Rounds of closed logs that were never cleaned: the latest record of each key stays.

The outcome is that of ``RoundMerge`` with the whole of each log in the dirty section, in a fraction of its
time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from kcompact.broker.log_names import LogName
from kcompact.cleaner.verdict_tallies import Tally
from kcompact.compact.offset_maps.key_groups import HowToRead, groups_of_keys
from kcompact.compact.output.decided_rows import decided_table
from kcompact.compact.output.keys_across_partitions import find_shared_keys
from kcompact.compact.output.stages import KeyFigures
from kcompact.engine.passes.grouped_rows import is_tombstone_of
from kcompact.engine.shuffle import Block
from kcompact.rules.links import NO_OFFSET
from kcompact.rules.lookups import NO_SEGMENT, rows_of_logs
from kcompact.rules.policy import Policy
from kcompact.rules.sizes import stamped_bytes
from kcompact.rules.verdicts import Verdict


@dataclass(frozen=True)
class LatestRecords:
    """The verdicts of one merge task. Names and policies are by log id."""

    reading: HowToRead
    names: Mapping[int, LogName]
    policies: Mapping[int, Policy]

    def decide(self, blocks: list[Block]) -> Iterator[tuple[pa.Table, KeyFigures]]:
        """Decide on the keys of a merge task (see ``Decide``). Blocks are those of ``send_groups``."""
        for groups in groups_of_keys(blocks, self.reading):
            keys = self.reading.grouping.merged(groups).combine_chunks()
            if keys.num_rows:
                logs = list(rows_of_logs(keys["log_id"].to_numpy()))
                tallies = [tally for log_id, at in logs for tally in self._tallies(keys, log_id, at)]
                shared = find_shared_keys(keys, self.names)
                yield self._decided(keys, logs), KeyFigures(shared, [pa.Table.from_pylist(tallies)])

    def _decided(self, keys: pa.Table, logs: list[tuple[int, np.ndarray]]) -> pa.Table:
        """DECIDED_SCHEMA rows, from one merged row per log and key."""
        dropped = is_tombstone_of(keys["location"].to_numpy())
        for log_id, at in logs:
            if not self.policies[log_id].drop_tombstones:
                dropped[at] = False
        verdict = np.where(dropped, int(Verdict.EXPIRED_TOMBSTONE), int(Verdict.RETAINED)).astype(np.int8)
        return decided_table(
            keys.append_column("verdict", pa.array(verdict)),
            np.where(dropped, NO_OFFSET, keys["last_offset"].to_numpy()),
            keys["records"].to_numpy() - ~dropped,
            keys["first_offset"].to_numpy(),
        )

    def _tallies(self, keys: pa.Table, log_id: int, at: np.ndarray) -> Iterator[dict[str, int]]:
        """Rows for ``tallies_in``: one for the latest values of a log, one for its latest tombstones."""
        policy, is_tombstone = self.policies[log_id], is_tombstone_of(keys["location"].to_numpy()[at])
        for tombstone, chosen in ((False, at[~is_tombstone]), (True, at[is_tombstone])):
            if not len(chosen):
                continue
            is_dropped = tombstone and policy.drop_tombstones
            horizon_ms = policy.delete_horizon_ms if tombstone and not is_dropped else None
            log_bytes, stamped_log_bytes = self._sizes(keys, chosen, horizon_ms)
            tally = Tally(
                segment_base_offset=NO_SEGMENT,
                rewritten_round=1,
                round=int(is_dropped),
                verdict=int(Verdict.EXPIRED_TOMBSTONE if is_dropped else Verdict.RETAINED),
                entry_round=1,
                stamped=horizon_ms is not None,
                in_range=True,
                tombstone=tombstone,
                records=len(chosen),
                log_bytes=log_bytes,
                stamped_log_bytes=stamped_log_bytes,
            )
            yield {"log_id": log_id, **asdict(tally)}

    def _sizes(self, keys: pa.Table, at: np.ndarray, horizon_ms: int | None) -> tuple[int, int]:
        """Bytes of the latest records of some keys, before and after stamping; 0: not known."""
        if not self.reading.tells_sizes:
            return 0, 0
        sizes = keys["log_bytes"].to_numpy()[at]
        if horizon_ms is None:
            return int(sizes.sum()), int(sizes.sum())
        stamped = stamped_bytes(sizes, keys["timestamp_ms"].to_numpy()[at], horizon_ms)
        return int(sizes.sum()), int(stamped.sum())
