//! [`Conventions`]: which implementation's defaults apply where it differs from the papers and RFCs.

/// The preset of defaults that a scenario names.
#[allow(non_camel_case_types, reason = "the names are those of the presets: ns2-2004 is no ns22004")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Conventions {
    /// Those of the papers and RFCs.
    #[default]
    Rfc,
    /// Those of ns-2.35.
    Ns2,
    /// Those of ns-2 from 2002 to 2007. Only TCP's differ from [`Conventions::Ns2`].
    Ns2_2004,
    /// Those of ns-2 until late 2001.
    Ns2_2001,
    /// Those of Linux 6.1.
    Linux,
}

impl Conventions {
    /// Every preset, in the order of tables.
    pub const ALL: [Conventions; 5] = [
        Conventions::Rfc,
        Conventions::Ns2,
        Conventions::Ns2_2004,
        Conventions::Ns2_2001,
        Conventions::Linux,
    ];

    /// The name in scenario files and plans.
    pub const fn name(self) -> &'static str {
        match self {
            Conventions::Rfc => "rfc",
            Conventions::Ns2 => "ns2",
            Conventions::Ns2_2004 => "ns2-2004",
            Conventions::Ns2_2001 => "ns2-2001",
            Conventions::Linux => "linux",
        }
    }

    /// The preset called `name`.
    pub fn find(name: &str) -> Option<Conventions> {
        Conventions::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Whether it is one of ns-2's.
    pub const fn is_ns2(self) -> bool {
        matches!(self, Conventions::Ns2 | Conventions::Ns2_2004 | Conventions::Ns2_2001)
    }
}
