//! Reasons why something failed, each with its text, once.

/// Defines an enum of reasons. A row is a reason, what it carries, and what it says; that is its documentation as well.
macro_rules! reasons {
    ($(#[$about:meta])* $name:ident {
        $($(#[$more:meta])* $reason:ident $(($($part:ident: $of:ty),*))? $({ $($field:ident: $kind:ty),* })? => $text:literal;)*
    }) => {
        $(#[$about])*
        #[allow(missing_docs)] // The texts say what the fields are.
        pub enum $name {
            $(
                #[doc = $text]
                $(#[$more])*
                $reason $(($($of),*))? $({ $($field: $kind),* })?,
            )*
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($name::$reason $(($($part),*))? $({ $($field),* })? => write!(f, $text),)*
                }
            }
        }
    };
}
pub(crate) use reasons;
