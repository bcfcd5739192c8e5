//! Parses and checks the parts of a plan.

use crate::{
    flows::ParsedRule,
    plan::Plan,
    routes::{Prefix, Routes},
};
use sojourn_sim::{PlanError, Wire, plan::Link};

/// The routing table of the hosts.
pub(crate) fn routes(plan: &Plan) -> Result<Routes, PlanError> {
    let mut routes = Routes::default();
    for (number, host) in plan.hosts.iter().enumerate() {
        let key = format!("host.{}", host.name);
        if host.device as usize >= plan.devices.len() {
            let problem = format!("= {} does not exist", host.device);
            return Err(refusal(format!("{key}.device"), problem, "the number of a device"));
        }
        for prefix in prefixes(&key, &host.addresses)? {
            routes.add(prefix, number as u32);
        }
    }
    Ok(routes)
}

/// The rules with their prefixes.
pub(crate) fn rules(plan: &Plan) -> Result<Vec<ParsedRule>, PlanError> {
    if plan.rules.is_empty() {
        return Err(refusal("rules".into(), "is empty".into(), "a last rule that matches everything"));
    }
    plan.rules
        .iter()
        .map(|rule| {
            let prefixes = prefixes(&format!("traffic.{}", rule.name), &rule.addresses)?;
            Ok(ParsedRule { rule: rule.clone(), prefixes })
        })
        .collect()
}

/// The class of each code point.
pub(crate) fn classes(plan: &Plan) -> Result<[u8; 64], PlanError> {
    let mut classes = [0; 64];
    for (dscp, class) in &plan.classes {
        match classes.get_mut(usize::from(*dscp)) {
            Some(place) => *place = *class,
            None => return Err(refusal("classes".into(), format!("{dscp} is not a code point"), "0 to 63")),
        }
    }
    Ok(classes)
}

/// The wires of the bottleneck, forward and backward, where they impair packets.
pub(crate) fn wires(plan: &Plan) -> Result<[Option<Wire>; 2], PlanError> {
    let wire = |name: &str, link: &Link| {
        let Some(impairment) = &link.impairment else { return Ok(None) };
        impairment.check(&format!("{name}.impairment"))?;
        Ok(Some(Wire::new(impairment, &format!("{}-{}", link.from, link.to), plan.seed)))
    };
    Ok([wire("forward", &plan.forward)?, wire("backward", &plan.backward)?])
}

fn prefixes(key: &str, words: &[String]) -> Result<Vec<Prefix>, PlanError> {
    words
        .iter()
        .map(|word| {
            Prefix::parse(word).ok_or_else(|| {
                refusal(
                    format!("{key}.addresses"),
                    format!("= {word:?} is not an address"),
                    "10.0.0.1, 10.0.0.0/24, fd00::/8",
                )
            })
        })
        .collect()
}

fn refusal(key: String, problem: String, allowed: &str) -> PlanError {
    PlanError { key, problem, allowed: allowed.to_owned(), nearest: None }
}
