pub mod budget;
pub mod carried;
pub mod decode;
pub mod encode;
pub mod letters;
pub mod made;
pub mod references;
pub mod repack;
