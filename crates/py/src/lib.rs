//! `sojourn._core`: the Python bindings.
//!
//! They convert values, release the GIL during runs, and map errors to Python exceptions with the attributes
//! key, problem, allowed and nearest. There is one call per run; columns are passed as little-endian bytes.

mod batch;
mod conformance;
mod errors;
mod gateway;
mod inspect;
mod python_aqm;
mod record;
mod schema;
mod tcp;
mod toml_positions;
mod units;
mod user_aqm;
mod views;

use pyo3::prelude::*;
use sojourn_aqm::Conventions;

/// The simulator and the algorithms of Sojourn.
#[pymodule]
#[pyo3(name = "_core")]
fn core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("CORE_VERSION", concat!(env!("CARGO_PKG_VERSION"), "+", env!("SOJOURN_SOURCES")))?;
    module.add("GATEWAY_VERSION", env!("SOJOURN_GATEWAY"))?;
    errors::register(module)?;
    module.add_function(wrap_pyfunction!(schema::algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(schema::schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(schema::markers, module)?)?;
    module.add_function(wrap_pyfunction!(schema::canonical, module)?)?;
    module.add_function(wrap_pyfunction!(schema::canonical_marker, module)?)?;
    module.add_function(wrap_pyfunction!(schema::spec_info, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::stopwatch, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::drop_function, module)?)?;
    module.add_function(wrap_pyfunction!(units::parse_unit, module)?)?;
    module.add_function(wrap_pyfunction!(units::canonical_unit, module)?)?;
    module.add_function(wrap_pyfunction!(units::nearest, module)?)?;
    module.add("CONVENTIONS", Conventions::ALL.map(Conventions::name).to_vec())?;
    module.add_function(wrap_pyfunction!(tcp::tcp_schema, module)?)?;
    module.add_function(wrap_pyfunction!(tcp::tcp_options, module)?)?;
    module.add_function(wrap_pyfunction!(toml_positions::toml_positions, module)?)?;
    module.add_function(wrap_pyfunction!(batch::check, module)?)?;
    module.add_function(wrap_pyfunction!(batch::run, module)?)?;
    module.add_function(wrap_pyfunction!(gateway::traced_record, module)?)?;
    module.add_function(wrap_pyfunction!(batch::view, module)?)?;
    module.add_function(wrap_pyfunction!(batch::fnv, module)?)?;
    module.add_function(wrap_pyfunction!(batch::packets, module)?)?;
    module.add_function(wrap_pyfunction!(record::deliveries, module)?)?;
    module.add_function(wrap_pyfunction!(user_aqm::register, module)?)?;
    module.add_function(wrap_pyfunction!(user_aqm::describe, module)?)?;
    module.add_function(wrap_pyfunction!(user_aqm::classes_in, module)?)?;
    module.add_function(wrap_pyfunction!(user_aqm::algorithm, module)?)?;
    module.add_function(wrap_pyfunction!(views::drop_both, module)?)?;
    module.add_class::<views::Packet>()?;
    module.add_class::<views::Queue>()?;
    module.add_class::<views::Rng>()?;
    module.add_class::<views::Link>()?;
    module.add_class::<views::Verdict>()?;
    module.add("PASS", views::PASS)?;
    module.add("MARK", views::MARK)?;
    module.add("DROP", views::DROP)?;
    module.add_class::<conformance::Harness>()?;
    module.add_class::<gateway::IdleGuard>()?;
    module.add_class::<gateway::Gateway>()?;
    module.add_class::<batch::Batch>()
}
