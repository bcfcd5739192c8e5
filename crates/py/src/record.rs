//! Converts a record into a dict: scalars as numbers, columns as little-endian bytes.

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use sojourn_aqm::Time;
use sojourn_sim::{
    DatagramColumns, DelayColumns, DeliveryColumns, Export, LossColumns, Plan, QueueRecord, QueueSeries,
    ReceivedDatagrams, Record, datagram_columns,
};

/// A number with a little-endian form of fixed size.
pub(crate) trait Scalar: Copy {
    const SIZE: usize;
    fn write(self, to: &mut [u8]);
}

macro_rules! scalar {
    ($($t:ty),*) => {$(
        impl Scalar for $t {
            const SIZE: usize = size_of::<$t>();
            fn write(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
scalar!(u8, u32, u64, f64);

pub(crate) fn column<'py, T: Scalar>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * T::SIZE, |bytes| {
        for (value, slot) in values.iter().zip(bytes.chunks_exact_mut(T::SIZE)) {
            value.write(slot);
        }
        Ok(())
    })
}

/// A dict of columns, from the named vectors.
macro_rules! columns {
    ($py:expr, $from:expr, [$($name:ident),* $(,)?]) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(stringify!($name), column($py, &$from.$name)?)?;)*
        dict
    }};
}
macro_rules! scalars {
    ($dict:expr, $from:expr, [$($name:ident),* $(,)?]) => {
        $($dict.set_item(stringify!($name), &$from.$name)?;)*
    };
}

/// Add the columns of classes as `class_NAME`.
macro_rules! per_class {
    ($py:expr, $dict:expr, $from:expr, [$($name:ident),* $(,)?]) => {
        $($dict.set_item(concat!("class_", stringify!($name)), column($py, &$from.$name)?)?;)*
    };
}

pub(crate) fn record_dict<'py>(py: Python<'py>, record: &Record) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("window", (record.window.start.0, record.window.end.0))?;
    dict.set_item("events", record.events)?;
    dict.set_item("fast_path", record.fast_path.to_string())?;
    let queues = PyList::empty(py);
    for queue in &record.queues {
        queues.append(queue_dict(py, queue)?)?;
    }
    dict.set_item("queues", queues)?;
    if !record.phases.is_empty() {
        let phases = PyList::empty(py);
        for phase in &record.phases {
            phases.append(queue_dict(py, phase)?)?;
        }
        dict.set_item("phases", phases)?;
    }
    let flows = columns!(
        py,
        record.flows,
        [
            traffic,
            index,
            start_ns,
            crosses,
            queue_arrivals,
            queue_drops,
            queue_marks,
            sent_packets,
            retransmitted_packets,
            timeouts,
            window_cuts,
            dropped_packets,
            received_packets,
            delay_ns,
            delay_max_ns,
            goodput_bytes,
        ]
    );
    dict.set_item("flows", flows)?;
    let (delays, round_trips) = (&record.delays, &record.round_trips);
    add_deliveries(&dict, &record.deliveries, delays, round_trips, &record.losses)?;
    if !record.segments.start_ns.is_empty() {
        let segments =
            columns!(py, record.segments, [traffic, index, start_ns, end_ns, play_ns, bitrate_bps, bytes]);
        dict.set_item("segments", segments)?;
    }
    if !record.links.link.is_empty() {
        let links = columns!(py, record.links, [link, packets, lost_packets, lost_bytes, copied_packets]);
        dict.set_item("links", links)?;
    }
    dict.set_item("objects", columns!(py, record.objects, [traffic, index, start_ns, end_ns, bytes]))?;
    let pages = columns!(py, record.pages, [traffic, index, start_ns, end_ns, objects, bytes]);
    dict.set_item("pages", pages)?;
    let drops = columns!(py, record.drops, [time_ns, flow, sequence, cause, arrival, queue_packets]);
    dict.set_item("drops", drops)?;
    dict.set_item("cwnd", columns!(py, record.cwnd, [time_ns, flow, cwnd, ssthresh]))?;
    if !record.packets.time_ns.is_empty() {
        let packets = columns!(
            py,
            record.packets,
            [
                time_ns,
                event,
                reason,
                arrival,
                flow,
                connection,
                sequence,
                kind,
                bytes,
                ecn,
                flag,
                class,
                queue_packets,
            ]
        );
        dict.set_item("packets", packets)?;
    }
    if !record.flow_series.time_ns.is_empty() {
        let flows = columns!(
            py,
            record.flow_series,
            [time_ns, flow, connection, goodput_bytes, carried_bytes, cwnd, srtt_ns]
        );
        dict.set_item("flow_series", flows)?;
    }
    let sampled = PyList::empty(py);
    for queue in &record.series.queues {
        sampled.append(series_dict(py, queue)?)?;
    }
    if !record.exports.is_empty() {
        dict.set_item("exports", exports_dict(py, &record.exports)?)?;
    }
    let series = PyDict::new(py);
    series.set_item("interval", record.series.interval.0)?;
    series.set_item("queues", sampled)?;
    dict.set_item("series", series)?;
    Ok(dict)
}

/// What each queue exports: its name to values by their names.
fn exports_dict<'py>(py: Python<'py>, exports: &[Export]) -> PyResult<Bound<'py, PyDict>> {
    let (queues, read) = (PyDict::new(py), py.import("json")?.getattr("loads")?);
    for Export { queue, name, value } in exports {
        let of_queue = match queues.get_item(queue)? {
            Some(found) => found.cast_into::<PyDict>()?,
            None => PyDict::new(py),
        };
        of_queue.set_item(name, read.call1((value,))?)?;
        queues.set_item(queue, of_queue)?;
    }
    Ok(queues)
}

/// Add what receivers of datagrams observed, each table only if it has rows.
fn add_deliveries(
    dict: &Bound<'_, PyDict>,
    deliveries: &DeliveryColumns,
    delays: &DelayColumns,
    round_trips: &DelayColumns,
    losses: &LossColumns,
) -> PyResult<()> {
    let py = dict.py();
    let table = columns!(
        py,
        deliveries,
        [
            flow,
            lost_packets,
            loss_periods,
            reordered_packets,
            delay_min_ns,
            jitter_ns,
            jitter_pairs,
            late_packets,
            unusable_periods,
            playout_ns,
            playout_packets,
            echoes,
            round_trip_ns,
            round_trip_max_ns,
        ]
    );
    if !deliveries.flow.is_empty() {
        dict.set_item("deliveries", table)?;
    }
    if !delays.count.is_empty() {
        dict.set_item("one_way_delays", columns!(py, delays, [traffic, edge_ns, count]))?;
    }
    if !round_trips.count.is_empty() {
        let table = columns!(py, round_trips, [traffic, edge_ns, count]);
        dict.set_item("round_trips", table)?;
    }
    if !losses.count.is_empty() {
        dict.set_item("loss_periods", columns!(py, losses, [traffic, length, count]))?;
    }
    Ok(())
}

/// Return what receivers of real datagrams observed as the tables of a record. A flow is (traffic, row,
/// columns): numbers, sent, received, sent and returned echoes, as little-endian bytes, times in nanoseconds
/// since the start.
#[pyfunction]
pub(crate) fn deliveries<'py>(
    py: Python<'py>,
    plan_json: &str,
    flows: Vec<(u32, u32, [Vec<u8>; 5])>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan: Plan =
        serde_json::from_str(plan_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let numbers = |bytes: &[u8]| -> Vec<u32> {
        bytes.chunks_exact(4).map(|one| u32::from_le_bytes(one.try_into().expect("four bytes"))).collect()
    };
    let times = |bytes: &[u8]| -> Vec<Time> {
        let time = |one: &[u8]| Time(u64::from_le_bytes(one.try_into().expect("eight bytes")));
        bytes.chunks_exact(8).map(time).collect()
    };
    let mut observed = Vec::new();
    for (traffic, row, [number, sent, received, echo_sent, echo_returned]) in &flows {
        if *traffic as usize >= plan.traffic.len() {
            return Err(PyValueError::new_err(format!("the plan has no traffic {traffic}")));
        }
        let arrivals: Vec<_> = numbers(number)
            .into_iter()
            .zip(times(sent).into_iter().zip(times(received)))
            .map(|(number, (sent, received))| (number, sent, received))
            .collect();
        let echoes: Vec<_> = times(echo_sent).into_iter().zip(times(echo_returned)).collect();
        observed.push((*traffic, *row, arrivals, echoes));
    }
    let received: Vec<_> = observed
        .iter()
        .map(|(traffic, row, arrivals, echoes)| ReceivedDatagrams {
            traffic: *traffic,
            row: *row,
            arrivals,
            echoes,
        })
        .collect();
    let DatagramColumns { deliveries, delays, round_trips, losses } = datagram_columns(&plan, &received);
    let dict = PyDict::new(py);
    add_deliveries(&dict, &deliveries, &delays, &round_trips, &losses)?;
    Ok(dict)
}

fn queue_dict<'py>(py: Python<'py>, queue: &QueueRecord) -> PyResult<Bound<'py, PyDict>> {
    let dict = columns!(py, queue, [delay_edges_ns, delay_counts, run_lengths, run_counts, part_packets]);
    per_class!(
        py,
        dict,
        queue.classes,
        [
            number,
            arrivals,
            arrived_bytes,
            departures,
            departed_bytes,
            drops,
            dropped_bytes,
            marks,
            packet_ns,
            delay_sum_ns,
        ]
    );
    dict.set_item("drops", queue.drops.to_vec())?;
    dict.set_item("marks", queue.marks.to_vec())?;
    scalars!(
        dict,
        queue,
        [
            name,
            spec,
            limit_packets,
            limit_bytes,
            capacity_bits,
            arrivals,
            arrived_bytes,
            departures,
            departed_bytes,
            dropped_bytes,
            packet_ns,
            packet_squared_ns,
            byte_ns,
            max_packets,
            idle_ns,
            part_ns,
            delay_sum_ns,
            delay_squared_ns,
            delay_max_ns,
        ]
    );
    Ok(dict)
}

fn series_dict<'py>(py: Python<'py>, series: &QueueSeries) -> PyResult<Bound<'py, PyDict>> {
    let dict = columns!(
        py,
        series,
        [packets, bytes, mean_packets, mean_square_packets, arrivals, drops, departed_bytes]
    );
    let probes = PyDict::new(py);
    for (class, packets) in &series.class_packets {
        let packets: Vec<f64> = packets.iter().map(|n| f64::from(*n)).collect();
        probes.set_item(format!("class_{class}_packets"), column(py, &packets)?)?;
    }
    for (name, values) in &series.probes {
        probes.set_item(name, column(py, values)?)?;
    }
    dict.set_item("probes", probes)?;
    Ok(dict)
}
