"""The kinds of warnings: code, title, meaning, cause, cure."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of warnings.

    Attributes
    ----------
    code : str
        ``W`` and two digits; a code is never used for another kind.
    title, meaning, cause, cure : str
        What the warning says, what it means for the results, where it comes from, what to do.
    """

    code: str
    title: str
    meaning: str
    cause: str
    cure: str


def _kinds(*rows: tuple[str, str, str, str, str]) -> dict[str, Kind]:
    return {row[0]: Kind(*row) for row in rows}


KINDS = _kinds(
    (
        "W01",
        "the measured queue is not the bottleneck",
        "Another link limits the traffic, so the algorithm had little to decide.",
        "The utilization of the measured link is below 50 %, the links of the hosts are slower than the "
        "bottleneck, or another queue is at least twice as long.",
        "Lower the rate of the measured link, raise those of the others, add flows, or choose another "
        "queue with [measure].",
    ),
    (
        "W02",
        "the queue never held more than a few packets",
        "Every algorithm gives the same result: there was nothing to drop or mark.",
        "The load is below the capacity, windows are limited (receiver_window), or the limit of the queue is "
        "a few packets.",
        "Add flows or load, or raise the limit.",
    ),
    (
        "W03",
        "the algorithm dropped and marked nothing",
        "The result is that of a drop-tail queue.",
        "Its thresholds or its target are above the queue, or the queue overflows before they are reached.",
        "Compare the target with the queue in the report; set thresholds below the limit of the queue.",
    ),
    (
        "W04",
        "a default threshold is too low for the link",
        "The link is idle at times, which the default causes, not the idea of the algorithm.",
        "The algorithm does not derive a threshold, such as RED's max_th of 15 packets, from the link, and "
        "its default is below the bandwidth-delay product of the scenario.",
        "Set it, tune it (sojourn tune), or use ared or codel, whose defaults suit any rate.",
    ),
    (
        "W05",
        "more than 1 % of the transfers did not finish",
        "Mean, maximum and high percentiles of completion times are those of the transfers that finished: "
        "too low, and more so for the slower algorithm.",
        "The run ended before them.",
        "Use drain = true, or the Kaplan-Meier estimates (completion_time_km_p99_s).",
    ),
    (
        "W06",
        "object sizes vary widely",
        "Means of completion times converge slowly, and their intervals are too narrow for few seeds.",
        "The sizes have a heavy tail (Hill's index is significantly below 2), or a large variance.",
        "Use medians and percentiles, more seeds, or longer runs.",
    ),
    (
        "W07",
        "the queue had not settled when the window began",
        "The mean contains a part of the start of the run, which is the same in all seeds: the interval does "
        "not contain it.",
        "The warm-up is shorter than the transient of this algorithm.",
        "Use a longer warm-up; run and compare find one with --warmup auto.",
    ),
    (
        "W08",
        "all seeds gave identical results",
        "± 0 is no uncertainty: other starting times may give another result.",
        "Nothing in the scenario is random: fixed starts, and an algorithm without random numbers.",
        'Randomise the starts, for example start = "uniform 0s 1s".',
    ),
    (
        "W09",
        "entries of delays are used by no host",
        "The round-trip times of the run are fewer than the scenario lists.",
        "Host j uses entry j mod n, and there are fewer hosts than entries: a flow that lasts has one host, "
        "servers are one host by default.",
        "Remove the entries, add flows (count), or set nodes.",
    ),
    (
        "W10",
        "a run of an own algorithm changed state that all runs of a process share",
        "Without a reset, results would depend on the runs before. A class from a file is reset; one without "
        "a file is not.",
        "Attributes of the class or globals of its module change during a run.",
        "Keep state in self, and create it in start.",
    ),
    (
        "W11",
        "the file of an own algorithm is gone or has changed",
        "The results shown are those of the code stored in the folder (code/), not of the file.",
        "The file was moved, removed or edited after the runs.",
        "Use another folder (--out) for results of the new code; sojourn rerun DIR repeats the stored one.",
    ),
    (
        "W12",
        "a run may need more memory than is available",
        "A run that exceeds the available memory fails; the others are kept.",
        "The bound on flows and traces, times the number of runs at a time, exceeds 80 % of the free memory.",
        "Trace less ([trace]), use fewer --workers, or set SOJOURN_MEMORY (a size like 8GB, or off).",
    ),
    (
        "W13",
        "a file of results is damaged",
        "Its runs count as missing. A command that runs them renames the file and repeats them.",
        "The file was changed, or not written completely.",
        "Repeat the command of the folder (manifest.json has it), and check with sojourn verify DIR.",
    ),
    (
        "W14",
        "files of results have no hashes",
        "Damage in them is not detected.",
        "Sojourn 0.1 or another program wrote them.",
        "Repeat the runs in a new folder, if that matters.",
    ),
    (
        "W15",
        "a line of a log is incomplete",
        "That line is left out; finished runs are not affected.",
        "A process ended while it wrote the list of failed runs.",
        "None is needed: a repeated command repeats failed runs.",
    ),
    (
        "W16",
        "packet events are left out of an export",
        "The exported file has the first events only.",
        "All events need more than the limit of the size.",
        "Raise --most, or export a shorter run.",
    ),
    (
        "W17",
        "the machine stalled",
        "Real packets were late, and the link may have been idle meanwhile.",
        "Gateway or host got no processor for more than a small share of the window.",
        "Repeat the run, if possible on an idle machine.",
    ),
    (
        "W18",
        "the gateway could not keep up",
        "Real packets left later than the link demands, so delays are too large.",
        "One packet in 100 was late by more than a bound: the rate is too high for this machine.",
        "Use a lower rate, or an idle machine.",
    ),
    (
        "W19",
        "the warm-up was not over at the end",
        "There are no statistics.",
        "The program in the shell ended before --warmup.",
        "Use a shorter --warmup.",
    ),
    (
        "W20",
        "too many connections to distinguish",
        "The last connections count as one flow for each traffic, so counts per flow are too low.",
        "A gateway distinguishes a limited number of connections.",
        "Use totals, or shorter sessions.",
    ),
    (
        "W21",
        "the kernel dropped packets before the gateway",
        "These losses are not those of the algorithm.",
        "The queue of a device was full: the machine is too slow for the rate, or was busy.",
        "Use a lower rate, or an idle machine.",
    ),
    (
        "W22",
        "packets could not be written",
        "They count as departures but did not arrive.",
        "Their device was down, or gone.",
        "Keep the devices up until the end.",
    ),
    (
        "W23",
        "missing ranges of TCP connections were forgotten",
        "Goodput is too low by their bytes.",
        "A connection had more ranges in flight than the gateway records.",
        "Use the throughput, or fewer losses.",
    ),
    (
        "W24",
        "connections broke",
        "The traffic is not the one that the scenario demands.",
        "The network stack of a host ended connections, for example after time-outs.",
        "Use a lower load or a longer queue; the first error is in the text.",
    ),
    (
        "W25",
        "--ecn marked no packet",
        "The results are those without ECN.",
        "The senders do not use ECN, the algorithm does not mark, or the queue overflowed.",
        "Use an algorithm that marks, and senders with ECN (Linux: sysctl net.ipv4.tcp_ecn=1).",
    ),
    (
        "W26",
        "the peer failed",
        "The program in the shell has no counterpart any more.",
        "The command of --peer ended with an error; its last lines are in the text.",
        "Correct the command; try it alone first.",
    ),
    (
        "W27",
        "a file of a session could not be written",
        "Report or counters are missing; the record is complete if the command ended without an error.",
        "The disk is full, or the folder is not writable.",
        "Free space, or use another --out.",
    ),
    (
        "W28",
        "tc does not accept a value",
        "The kernel's queue has the nearest value that tc accepts; the simulated one has the value as given.",
        "tc has coarser units, or lacks the parameter.",
        "Use the printed value in both worlds.",
    ),
    (
        "W29",
        "the solution of the fluid equations depends on the step",
        "The queue is not exact to the stated share.",
        "The loop oscillates or changes faster than the step of the solver.",
        "Treat the result as qualitative; compare it with simulated runs (sojourn compare-worlds).",
    ),
    (
        "W30",
        "windows are too small for the fluid model",
        "The model has no time-outs, which dominate below 4 packets.",
        "Too many flows share the link.",
        "Use the simulated world, or fewer flows.",
    ),
    (
        "W31",
        "a metric depends on exact times",
        "A microsecond moves it further than another seed would; part of it belongs to this scenario only.",
        "Phase effects: senders with exact times meet a full buffer in the same order again and again.",
        'Set send_jitter in [tcp], to "1us" or to the time of a packet; vary delays and sizes.',
    ),
    (
        "W32",
        "packets waited before the gateway read them",
        "They entered the queue at the time of their arrival, so drops and marks are those of the link, but "
        "they left late: delays that the programs see are too large.",
        "The gateway had no processor time, or more packets arrive than it can read.",
        "Use an idle machine, root (real-time priority), or fewer packets per second.",
    ),
    (
        "W33",
        "the kernel did not report when packets arrived",
        "They entered the queue when the gateway read them. If it read many at once, they arrived in a burst "
        "as far as the algorithm knows, and drops or marks may be the machine's.",
        "No packet socket is permitted, or the kernel had no room for a report (more than 16,384 packets "
        "waited).",
        "Use an idle machine, or fewer packets per second; run sojourn where packet sockets are permitted.",
    ),
    (
        "W34",
        "senders that need marks met a queue that marks nothing",
        "DCTCP and Prague then halve their windows for losses, as Reno does: the run does not show L4S.",
        "Neither the queue nor its algorithm has ecn = true, or the algorithm only drops.",
        "Set ecn = true in [queue], and an algorithm that marks, such as dualpi2.",
    ),
)
