pub mod atoms;
pub mod make;
pub mod maps;
pub mod own_term;
pub mod pattern;
pub mod read;
pub mod send;
