//! The one error type of the core.

use std::fmt;

use crate::canonical::MAX_DEPTH;

/// What a caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The input breaks its contract: mend it.
    InvalidInput,
    /// A named thing does not exist here.
    NotFound,
    /// A cap on size or count: send less.
    Limit,
}

/// Where the offending element of a JSON document stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Byte offset into the text that was read, from 0.
    Offset(usize),
    /// JSON path of an element of a value in memory, such as `$.cases[3].seed`; `$` is the whole value.
    Path(String),
}

/// An error that still lacks its place, which only the driver of a walk knows.
pub type Refusal = fn(Place) -> Error;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, "byte {offset}"),
            Self::Path(path) => f.write_str(path),
        }
    }
}

/// Everything that the core refuses. [`Error::code`] is for machines, `Display` for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A policy file is not TOML or lacks a key.
    #[error("line {line}: {message}")]
    PolicySyntax {
        /// Line in the file, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A policy file is well formed but breaks a rule.
    #[error("line {line}: {field}: {message}")]
    PolicyInvalid {
        /// Line in the file, from 1.
        line: usize,
        /// The key at fault.
        field: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// Two policies have the same name and version.
    #[error("policy {name}@{version} is defined twice")]
    PolicyDuplicate {
        /// Policy name.
        name: String,
        /// Policy version.
        version: u32,
    },
    /// The request names a policy that is not loaded.
    #[error("policy: {name}@{version} is not loaded")]
    PolicyNotFound {
        /// The name asked for.
        name: String,
        /// The version asked for; 0 is "the highest".
        version: u32,
    },
    /// The request is not a valid protobuf message of its type.
    #[error("the request is not a valid message: {0}")]
    MalformedMessage(Malformed),
    /// A request without rows and without columns.
    #[error("input: set rows or columns")]
    InputMissing,
    /// A batch without tasks.
    #[error("{path}: the batch is empty")]
    BatchEmpty {
        /// The field that should hold tasks.
        path: String,
    },
    /// A batch with more tasks than the limit.
    #[error("{path}: {tasks} tasks are more than the limit of {limit}")]
    BatchTooLarge {
        /// The field that holds the tasks.
        path: String,
        /// Tasks in the batch.
        tasks: usize,
        /// Tasks allowed.
        limit: usize,
    },
    /// A column block whose length does not fit.
    #[error("{path}: {message}")]
    LengthMismatch {
        /// The field at fault.
        path: String,
        /// Which lengths do not agree.
        message: String,
    },
    /// A score that is not an integer 0..100.
    #[error("{path}: {value} is not a score; a score is an integer from 0 to 100")]
    ScoreOutOfRange {
        /// The score's place.
        path: String,
        /// What stands there.
        value: i64,
    },
    /// A category without one of its scores.
    #[error("{path}: the score of category {category} is missing")]
    ScoreMissing {
        /// The score's place.
        path: String,
        /// The category.
        category: String,
    },
    /// A category with an AI score and AI samples at once.
    #[error("{path}: category {category} has both ai_score and ai_samples; give one of them")]
    ScoreAmbiguous {
        /// The place of the samples.
        path: String,
        /// The category.
        category: String,
    },
    /// More AI samples than the limit.
    #[error("{path}: {count} samples are more than the limit of {limit}")]
    SamplesTooMany {
        /// The place of the samples.
        path: String,
        /// Samples given.
        count: usize,
        /// Samples allowed.
        limit: usize,
    },
    /// A category that the policy does not have.
    #[error("{path}: the policy has no category {category:?}")]
    CategoryUnknown {
        /// The category's place.
        path: String,
        /// Its name.
        category: String,
    },
    /// A category given twice for one task.
    #[error("{path}: category {category} is given twice")]
    CategoryDuplicate {
        /// The place of the second one.
        path: String,
        /// Its name.
        category: String,
    },
    /// A category of the policy that a task lacks.
    #[error("{path}: category {category} is missing")]
    CategoryMissing {
        /// The place of the task's categories.
        path: String,
        /// The category's name.
        category: String,
    },
    /// The text is not JSON (RFC 8259).
    #[error("{0}: invalid JSON: expected {1}")]
    InvalidJson(Place, &'static str),
    /// The text is not UTF-8.
    #[error("{0}: invalid UTF-8")]
    InvalidUtf8(Place),
    /// An object holds the same key twice: readers would disagree about its value.
    #[error("{0}: the same object key occurs twice")]
    DuplicateKey(Place),
    /// A string holds half of a surrogate pair, which UTF-8 cannot carry.
    #[error("{0}: lone surrogate in a string")]
    LoneSurrogate(Place),
    /// An integer that binary64 cannot hold without loss.
    #[error("{0}: an integer beyond \u{b1}(2^53 - 1) cannot be held without loss")]
    IntegerOutOfRange(Place),
    /// A number literal such as `1e999`.
    #[error("{0}: the number is beyond the binary64 range")]
    NumberOutOfRange(Place),
    /// NaN or an infinity in a JSON value.
    #[error("{0}: NaN and infinities have no JSON form")]
    NotFinite(Place),
    /// Arrays and objects nest too deep.
    #[error("{0}: nesting deeper than {MAX_DEPTH} levels")]
    TooDeep(Place),
    /// The text or its canonical form is too long.
    #[error("{0}: more than {max} bytes", max = u32::MAX)]
    TooLarge(Place),
    /// A value in memory that JSON has no form for; the second field names it.
    #[error("{0}: a {1} has no JSON form")]
    UnsupportedType(Place, String),
    /// A statistic of no observations.
    #[error("{path}: at least one observation is needed")]
    SampleEmpty {
        /// The argument.
        path: String,
    },
    /// More observations than the limit.
    #[error("{path}: {count} observations are more than the limit of {limit}")]
    SampleTooLarge {
        /// The argument.
        path: String,
        /// Observations given.
        count: u64,
        /// Observations allowed.
        limit: u64,
    },
    /// An argument of a statistic outside of its domain.
    #[error("{path}: {found} is not {expected}")]
    ParameterOutOfRange {
        /// The argument.
        path: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// More resampling than the limit.
    #[error("flips: {work} signs to draw are more than the limit of {limit}")]
    ResamplingTooLarge {
        /// Observations times sign patterns.
        work: u64,
        /// Product allowed.
        limit: u64,
    },
}

/// Why bytes are not a protobuf message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end inside a field.
    #[error("it is cut short")]
    Truncated,
    /// A varint of more than ten bytes.
    #[error("a varint is too long")]
    Varint,
    /// Field number 0 or above 2^29 - 1, or a wire type that does not exist.
    #[error("a field tag is invalid")]
    Tag,
    /// A string that is not UTF-8.
    #[error("a string is not UTF-8")]
    Utf8,
    /// Groups nested too deep, or one that ends without having begun.
    #[error("a group is malformed")]
    Group,
}

impl Error {
    /// Every code that [`Error::code`] can return.
    pub const ALL_CODES: &'static [&'static str] = &[
        "POLICY_SYNTAX",
        "POLICY_INVALID",
        "POLICY_DUPLICATE",
        "POLICY_NOT_FOUND",
        "MALFORMED_MESSAGE",
        "INPUT_MISSING",
        "BATCH_EMPTY",
        "BATCH_TOO_LARGE",
        "LENGTH_MISMATCH",
        "SCORE_OUT_OF_RANGE",
        "SCORE_MISSING",
        "SCORE_AMBIGUOUS",
        "SAMPLES_TOO_MANY",
        "CATEGORY_UNKNOWN",
        "CATEGORY_DUPLICATE",
        "CATEGORY_MISSING",
        "INVALID_JSON",
        "INVALID_UTF8",
        "DUPLICATE_KEY",
        "LONE_SURROGATE",
        "INTEGER_OUT_OF_RANGE",
        "NUMBER_OUT_OF_RANGE",
        "NOT_FINITE",
        "TOO_DEEP",
        "TOO_LARGE",
        "UNSUPPORTED_TYPE",
        "SAMPLE_EMPTY",
        "SAMPLE_TOO_LARGE",
        "PARAMETER_OUT_OF_RANGE",
        "RESAMPLING_TOO_LARGE",
    ];

    /// The stable UPPER_SNAKE name of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Error::PolicySyntax { .. } => "POLICY_SYNTAX",
            Error::PolicyInvalid { .. } => "POLICY_INVALID",
            Error::PolicyDuplicate { .. } => "POLICY_DUPLICATE",
            Error::PolicyNotFound { .. } => "POLICY_NOT_FOUND",
            Error::MalformedMessage(_) => "MALFORMED_MESSAGE",
            Error::InputMissing => "INPUT_MISSING",
            Error::BatchEmpty { .. } => "BATCH_EMPTY",
            Error::BatchTooLarge { .. } => "BATCH_TOO_LARGE",
            Error::LengthMismatch { .. } => "LENGTH_MISMATCH",
            Error::ScoreOutOfRange { .. } => "SCORE_OUT_OF_RANGE",
            Error::ScoreMissing { .. } => "SCORE_MISSING",
            Error::ScoreAmbiguous { .. } => "SCORE_AMBIGUOUS",
            Error::SamplesTooMany { .. } => "SAMPLES_TOO_MANY",
            Error::CategoryUnknown { .. } => "CATEGORY_UNKNOWN",
            Error::CategoryDuplicate { .. } => "CATEGORY_DUPLICATE",
            Error::CategoryMissing { .. } => "CATEGORY_MISSING",
            Error::InvalidJson(..) => "INVALID_JSON",
            Error::InvalidUtf8(_) => "INVALID_UTF8",
            Error::DuplicateKey(_) => "DUPLICATE_KEY",
            Error::LoneSurrogate(_) => "LONE_SURROGATE",
            Error::IntegerOutOfRange(_) => "INTEGER_OUT_OF_RANGE",
            Error::NumberOutOfRange(_) => "NUMBER_OUT_OF_RANGE",
            Error::NotFinite(_) => "NOT_FINITE",
            Error::TooDeep(_) => "TOO_DEEP",
            Error::TooLarge(_) => "TOO_LARGE",
            Error::UnsupportedType(..) => "UNSUPPORTED_TYPE",
            Error::SampleEmpty { .. } => "SAMPLE_EMPTY",
            Error::SampleTooLarge { .. } => "SAMPLE_TOO_LARGE",
            Error::ParameterOutOfRange { .. } => "PARAMETER_OUT_OF_RANGE",
            Error::ResamplingTooLarge { .. } => "RESAMPLING_TOO_LARGE",
        }
    }

    /// What the caller can do about it.
    pub const fn kind(&self) -> Kind {
        match self {
            Error::PolicyNotFound { .. } => Kind::NotFound,
            Error::BatchTooLarge { .. }
            | Error::SampleTooLarge { .. }
            | Error::ResamplingTooLarge { .. } => Kind::Limit,
            _ => Kind::InvalidInput,
        }
    }

    /// The place of the fault in the caller's input; empty when it is the whole input.
    pub fn path(&self) -> &str {
        match self {
            Error::PolicySyntax { .. }
            | Error::PolicyDuplicate { .. }
            | Error::MalformedMessage(_) => "",
            Error::PolicyInvalid { field, .. } => field,
            Error::PolicyNotFound { .. } => "policy",
            Error::InputMissing => "input",
            Error::BatchEmpty { path }
            | Error::BatchTooLarge { path, .. }
            | Error::LengthMismatch { path, .. }
            | Error::ScoreOutOfRange { path, .. }
            | Error::ScoreMissing { path, .. }
            | Error::ScoreAmbiguous { path, .. }
            | Error::SamplesTooMany { path, .. }
            | Error::CategoryUnknown { path, .. }
            | Error::CategoryDuplicate { path, .. }
            | Error::CategoryMissing { path, .. }
            | Error::SampleEmpty { path }
            | Error::SampleTooLarge { path, .. }
            | Error::ParameterOutOfRange { path, .. } => path,
            Error::ResamplingTooLarge { .. } => "flips",
            Error::InvalidJson(place, _)
            | Error::InvalidUtf8(place)
            | Error::DuplicateKey(place)
            | Error::LoneSurrogate(place)
            | Error::IntegerOutOfRange(place)
            | Error::NumberOutOfRange(place)
            | Error::NotFinite(place)
            | Error::TooDeep(place)
            | Error::TooLarge(place)
            | Error::UnsupportedType(place, _) => match place {
                Place::Path(path) => path,
                Place::Offset(_) => "",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn one_of_each() -> Vec<Error> {
        let text = || "x".to_owned();
        let path = || "rows[1]".to_owned();
        let at = || Place::Path(path());
        vec![
            Error::PolicySyntax { line: 1, message: text() },
            Error::PolicyInvalid { line: 1, field: path(), message: text() },
            Error::PolicyDuplicate { name: text(), version: 1 },
            Error::PolicyNotFound { name: text(), version: 1 },
            Error::MalformedMessage(Malformed::Truncated),
            Error::InputMissing,
            Error::BatchEmpty { path: path() },
            Error::BatchTooLarge { path: path(), tasks: 2, limit: 1 },
            Error::LengthMismatch { path: path(), message: text() },
            Error::ScoreOutOfRange { path: path(), value: 101 },
            Error::ScoreMissing { path: path(), category: text() },
            Error::ScoreAmbiguous { path: path(), category: text() },
            Error::SamplesTooMany { path: path(), count: 2, limit: 1 },
            Error::CategoryUnknown { path: path(), category: text() },
            Error::CategoryDuplicate { path: path(), category: text() },
            Error::CategoryMissing { path: path(), category: text() },
            Error::InvalidJson(at(), "a value"),
            Error::InvalidUtf8(at()),
            Error::DuplicateKey(at()),
            Error::LoneSurrogate(at()),
            Error::IntegerOutOfRange(at()),
            Error::NumberOutOfRange(at()),
            Error::NotFinite(at()),
            Error::TooDeep(at()),
            Error::TooLarge(at()),
            Error::UnsupportedType(at(), text()),
            Error::SampleEmpty { path: path() },
            Error::SampleTooLarge { path: path(), count: 2, limit: 1 },
            Error::ParameterOutOfRange { path: path(), expected: "even", found: text() },
            Error::ResamplingTooLarge { work: 2, limit: 1 },
        ]
    }

    #[test]
    fn every_code_is_listed_once_and_upper_snake() {
        let codes: Vec<_> = one_of_each().iter().map(Error::code).collect();
        assert_eq!(codes, Error::ALL_CODES);
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
        for code in codes {
            assert!(
                code.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            );
        }
    }

    #[test]
    fn every_message_names_its_path() {
        for error in one_of_each() {
            assert!(error.to_string().contains(error.path()), "{error}");
        }
        let error = Error::DuplicateKey(Place::Offset(7));
        assert_eq!((error.path(), error.to_string().split(':').next()), ("", Some("byte 7")));
    }
}
