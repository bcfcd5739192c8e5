#![doc = include_str!("../README.md")]
//! ## Where to begin
//!
//! [`Aqm`] is the contract of an algorithm; [`red`] and [`codel`] are good examples. [`Scheduler`] is the
//! contract of several queues behind one link. [`registry`] lists all of them, [`schema`] describes
//! parameters, [`Spec`] reads them as text (`red min_th 15 max_th 45`). [`queue::Fifo`] is a complete queue;
//! [`Occupancy`] helps to write another one. [`Time`] and [`Random`] are the time and the random numbers that
//! callers pass in.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod aqm;
mod bands;
mod classes;
mod common;
mod config;
#[cfg(feature = "conformance")]
pub mod conformance;
mod conventions;
mod flow_hash;
mod flow_table;
pub mod inspect;
mod occupancy;
pub mod profile;
pub mod queue;
mod random;
mod red_family;
pub mod registry;
pub mod scheduler;
pub mod schema;
mod settings;
mod spec;
mod synonyms;
mod ticks;
mod time;
pub mod units;
mod value;

pub mod ared;
pub mod avq;
pub mod avqred;
pub mod bio;
pub mod blue;
pub mod cake;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod droptail;
pub mod drr;
pub mod dualpi2;
pub mod feng_ared;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod fred;
pub mod gkvq;
pub mod gred;
pub mod ldc;
pub mod marker;
pub mod nlred;
pub mod pi;
pub mod pi2;
pub mod pie;
pub mod prio;
pub mod raqm;
pub mod red;
pub mod rem;
pub mod rio;
pub mod sfb;
pub mod sfq;
pub mod sred;

pub use aqm::{
    Aqm, Cause, Class, Contents, Ecn, FlowId, Hooks, HostId, IgnoresContents, Limit, PacketView, QueueView,
    Verdict, transmission,
};
pub use conventions::Conventions;
pub use occupancy::Occupancy;
pub use profile::Profile;
pub use random::{Random, Stream};
pub use scheduler::{Discipline, Outcome, Scheduler, Token};
pub use schema::{Algorithm, Context, DefaultValue, Instance, Kind, Param, Probe, Range};
pub use settings::Settings;
pub use spec::{Overflow, QUEUE_WORDS, Spec, SpecError};
pub use ticks::Ticks;
pub use time::{Span, Time};
pub use value::{Value, allowed};
