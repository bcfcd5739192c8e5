//! Typed configurations build the same algorithms as text specs, and are refused with the same errors.

use crate::support::context;
use sojourn_aqm::{
    Aqm, Context, Conventions, Span, Spec, SpecError, ared, avq, bio, cobalt, codel, conformance::Harness,
    drr, dualpi2, fq_codel, fq_pie, gkvq, ldc, pi, pi2, pie, red, rem, rio, units::Size,
};

/// The decisions of an algorithm under random traffic.
fn run(aqm: impl Aqm, spec: &str, link: Context) -> String {
    let spec = Spec::parse(spec).expect("a spec");
    let mut harness = Harness::around(Box::new(aqm), spec, link, 5);
    harness.run(3000, 0.5);
    format!("{:?}", harness.log)
}

fn from_text(spec: &str, link: Context) -> String {
    run(Spec::parse(spec).and_then(|spec| spec.build(link)).expect("a spec"), spec, link)
}

#[test]
fn a_configuration_equals_its_text_spec() {
    let link = context().with_link_rate(3_000_000);
    let target = Span::from_millis(2);
    let codel = codel::CoDel::new(codel::Config { target, ..Default::default() });
    assert_eq!(run(codel.expect("valid"), "codel", link), from_text("codel target 2ms", link));

    let wanted =
        red::Config { min_th: Size::Packets(3.0), max_th: Some(Size::Packets(9.0)), ..Default::default() };
    let red = red::Red::new(wanted, &link).expect("valid");
    assert_eq!(run(red, "red", link), from_text("red min_th 3p max_th 9p", link));

    let wanted = pie::Config { delay: pie::Delay::Head, target, ..Default::default() };
    let pie = pie::Pie::new(wanted, &link).expect("valid");
    assert_eq!(run(pie, "pie", link), from_text("pie delay head target 2ms", link));

    let control = pi2::Control { target, ..Default::default() };
    let pi2 = pi2::Pi2::new(pi2::Config { control, at: pi2::At::Arrival, ..Default::default() });
    assert_eq!(run(pi2.expect("valid"), "pi2", link), from_text("pi2 target 2ms at arrival", link));
}

#[test]
fn defaults_without_a_link_equal_those_of_text_specs() {
    let link = context();
    let same = |aqm: Result<Box<dyn Aqm>, SpecError>, name: &str| {
        assert_eq!(run(aqm.expect("valid"), name, link), from_text(name, link), "{name}");
    };
    same(avq::Avq::new(avq::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "avq");
    same(ared::Ared::new(ared::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "ared");
    same(bio::Bio::new(bio::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "bio");
    same(cobalt::Cobalt::new(cobalt::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "cobalt");
    same(gkvq::Gkvq::new(gkvq::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "gkvq");
    same(ldc::Ldc::new(ldc::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "ldc");
    same(pi::Pi::new(pi::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "pi");
    same(rem::Rem::new(rem::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "rem");
    same(rio::Rio::new(rio::Config::default(), &link).map(|aqm| Box::new(aqm) as _), "rio");
}

#[test]
fn presets_apply_to_typed_configurations() {
    let linux = codel::Config::under(Conventions::Linux);
    assert_eq!((linux.sqrt, linux.max_packet.0), (codel::Sqrt::Newton, 1514.0));
    let [ns2, ns2_2001] = [Conventions::Ns2, Conventions::Ns2_2001].map(red::Config::under);
    assert_eq!((ns2.listing, ns2.wait), (red::Listing::Ns2, true));
    assert_ne!(ns2.ecn_forced, ns2_2001.ecn_forced);
    assert_eq!((ns2.mark_p, ns2_2001.mark_p), (0.1, 1.0));
    assert_eq!(red::Config { ecn_forced: ns2.ecn_forced, mark_p: 0.1, ..ns2_2001 }, ns2);
}

#[test]
fn a_scheduler_has_the_defaults_of_its_spec() {
    let queues = fq_codel::Config::default().queues;
    assert_eq!((queues.flows, queues.quantum.0, queues.ecn), (1024, 1514.0, true));
    assert_eq!(fq_pie::Config::default().queues, queues);
    assert_eq!(dualpi2::Config::default().control, pi2::Control::default());
    assert_eq!(drr::Config::default().bands.aqm.to_string(), "droptail");
}

/// The message of a refused value, without the name of the algorithm.
fn refused<T>(made: Result<T, SpecError>) -> String {
    made.err().expect("it is refused").to_string()
}

#[test]
fn values_refused_in_a_spec_are_refused_in_a_configuration() {
    let link = context();
    let config = red::Config { w_q: 1.5, ..Default::default() };
    let typed = refused(red::Red::new(config, &link));
    assert_eq!(format!("red.{typed}"), refused(Spec::parse("red w_q 1.5").map(|_| ())));
    let config = red::Config { max_th: Some(Size::Bytes(9e3)), ..Default::default() };
    let typed = refused(red::Red::new(config, &link));
    let words = Spec::parse("gred max_th 9kB").and_then(|spec| spec.build(link));
    assert_eq!(format!("gred.{typed}"), refused(words));
    let config = codel::Config { interval: Span::ZERO, ..Default::default() };
    let typed = refused(codel::CoDel::new(config));
    assert_eq!(format!("codel.{typed}"), refused(Spec::parse("codel interval 0s").map(|_| ())));
    // The same for a configuration inside another one.
    let codel = codel::Config { interval: Span::ZERO, ..Default::default() };
    let config = fq_codel::Config { codel, ..Default::default() };
    assert!(refused(fq_codel::FlowQueues::codel(config, &link)).starts_with("interval = "));
}

/// An algorithm inside a scheduler is named in its own error.
#[test]
fn an_error_names_the_algorithm_that_refuses() {
    let words = |text: &str| refused(Spec::parse_any(text).and_then(|spec| spec.schedule(context())));
    assert!(words("prio aqm_0 (red min_th 9p max_th 3p)").starts_with("red.max_th is not above min_th"));
    assert!(words("prio classes 2 aqm_5 codel").starts_with("prio.aqm_5 is for a class that does not exist"));
}
