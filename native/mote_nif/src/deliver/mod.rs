pub mod answer;
pub mod bridge;
pub mod cell;
pub mod foreign;
pub mod mail;
pub mod message;
pub mod outbox;
pub mod trap;
