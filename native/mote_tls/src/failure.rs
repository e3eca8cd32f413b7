//! The names of failures: those of the alerts that they are, or that they lead to.
use mote_vm::machine::net::seal::SealError;
use rustls::{CertificateError, Error};

/// Returns the name in answers of a failed handshake or a bad record.
pub(crate) fn named(error: &Error) -> SealError {
    let name = match error {
        Error::AlertReceived(alert) => return SealError(snake_case(&format!("{alert:?}"))),
        Error::InvalidCertificate(error) => of_certificate(error),
        Error::NoCertificatesPresented => "certificate_required",
        Error::NoApplicationProtocol => "no_application_protocol",
        Error::PeerIncompatible(_) => "handshake_failure",
        Error::DecryptError => "bad_record_mac",
        Error::PeerSentOversizedRecord => "record_overflow",
        // A peer that speaks something else is one of these.
        Error::InvalidMessage(_) => "decode_error",
        Error::PeerMisbehaved(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. } => "unexpected_message",
        _ => "internal_error",
    };
    SealError(name.into())
}

fn of_certificate(error: &CertificateError) -> &'static str {
    use CertificateError::*;
    match error {
        Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } => {
            "certificate_expired"
        }
        Revoked => "certificate_revoked",
        UnknownIssuer => "unknown_ca",
        NotValidForName | NotValidForNameContext { .. } => "hostname_check_failed",
        InvalidPurpose | InvalidPurposeContext { .. } => "unsupported_certificate",
        _ => "bad_certificate",
    }
}

/// `UnknownCA` is `unknown_ca`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            break;
        }
        if letter.is_uppercase() && before.is_lowercase() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
        before = letter;
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::AlertDescription;

    #[test]
    fn alerts_have_the_names_that_ssl_gives_them() {
        let names = [
            (AlertDescription::UnknownCA, "unknown_ca"),
            (AlertDescription::HandshakeFailure, "handshake_failure"),
            (AlertDescription::BadRecordMac, "bad_record_mac"),
            (
                AlertDescription::CertificateRequired,
                "certificate_required",
            ),
        ];
        for (alert, name) in names {
            assert_eq!(named(&Error::AlertReceived(alert)), SealError(name.into()));
        }
    }
}
