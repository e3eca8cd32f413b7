pub mod fold;
pub mod image;
pub mod info;
pub mod migration;
pub mod peek;
pub mod proof;
pub mod survey;
pub mod trace;
