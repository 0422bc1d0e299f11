//! The one error type of the core.

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
        }
    }

    /// What the caller can do about it.
    pub const fn kind(&self) -> Kind {
        match self {
            Error::PolicyNotFound { .. } => Kind::NotFound,
            Error::BatchTooLarge { .. } => Kind::Limit,
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
            | Error::CategoryMissing { path, .. } => path,
        }
    }
}
