pub mod info;
pub mod survey;
pub mod trace;
