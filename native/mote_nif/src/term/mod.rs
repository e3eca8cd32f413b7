pub mod assembly;
pub mod atoms;
pub mod external;
pub mod make;
pub mod maps;
pub mod own_term;
pub mod pattern;
#[macro_use]
pub mod plain_nif;
pub mod read;
#[macro_use]
pub mod resource;
pub mod send;
