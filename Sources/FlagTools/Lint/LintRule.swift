import FeatureFlags

/// The rules of the linter. Their names are stable; future versions may add rules.
public enum LintRule: String, Sendable, CaseIterable {
    /// The file cannot be read or parsed at all.
    case syntax
    /// Part of the file does not have the form that the format requires, and the flag cannot be used.
    case schema
    /// A member that the format does not define, and that has no effect.
    case unknownMember = "unknown-member"
    /// Metadata of an unsupported type.
    case metadata
    /// A name occurs twice in an object, or a flag twice in the file; only the last one counts.
    case duplicateKey = "duplicate-key"
    /// A text or number was changed by parsing: a lone surrogate, an integer beyond 64 bits, or a byte order mark.
    case encoding
    /// An operator that does not exist.
    case unknownOperator = "unknown-operator"
    /// An operator has arguments that it cannot use.
    case arguments
    /// A variable that does not exist, or whose name is similar to another one's.
    case unknownVariable = "unknown-variable"
    /// Arguments in the wrong order.
    case exchangedArguments = "exchanged-arguments"
    /// A comparison of `$flagd.timestamp` with something that is not a time in seconds.
    case timestamp
    /// A text that is compared literally but looks as if it was meant otherwise.
    case suspiciousText = "suspicious-text"
    /// Branches, or all entries of a percentage, that have the same result.
    case equalBranches = "equal-branches"
    /// A `$ref` to an evaluator that does not exist, or from one evaluator to another.
    case unknownReference = "unknown-reference"
    /// An evaluator that no flag refers to.
    case unusedEvaluator = "unused-evaluator"
    /// The targeting can return a result that is not a variant of the flag.
    case unknownVariant = "unknown-variant"
    /// A percentage of a value that all users share, so that it moves all users together or none.
    case constantBucket = "constant-bucket"
    /// Weights of a `fractional` that are all zero or invalid.
    case weights
    /// Weights that look like percentages but do not add up to 100.
    case percentages
    /// `sem_ver` with an invalid version or operator.
    case invalidVersion = "invalid-version"
    /// `in` searches something empty.
    case emptyList = "empty-list"
    /// A comparison of values with different types.
    case typeMismatch = "type-mismatch"
    /// A condition that is never true.
    case constantCondition = "constant-condition"
    /// A branch that is never reached.
    case unreachableBranch = "unreachable-branch"
    /// Targeting that never selects a variant.
    case neverMatches = "never-matches"
    /// A disabled flag with targeting.
    case disabledTargeting = "disabled-targeting"
    /// A kill flag that cannot kill, or cannot be recovered from a damaged file.
    case killFlag = "kill-flag"
    /// A kill flag that is pulled.
    case killPulled = "kill-pulled"
    /// A value that the flag cannot have, such as an unknown stage.
    case wrongValue = "wrong-value"
    /// A flag whose key is similar to one that programs read.
    case unknownFlag = "unknown-flag"
    /// A cohort that would skip a stage.
    case stageJump = "stage-jump"
    /// A change of weights, their order, or the bucketing that moves users in both directions.
    case rebucketing
    /// The change removes a flag that the caller reads.
    case removedFlag = "removed-flag"
    /// Two flags that must differ but have the same value, or whose values were exchanged.
    case flagPair = "flag-pair"
    /// The file's version is lower than the current one, or missing although the current file has one.
    case version
    /// The rules take too much work to check all of them.
    case unchecked

    /// The default severity of a finding of this rule.
    public var severity: LintFinding.Severity {
        switch self {
        case .syntax, .schema, .duplicateKey, .unknownOperator, .arguments, .unknownReference, .unknownVariant,
            .constantBucket, .weights, .invalidVersion, .timestamp, .killFlag, .wrongValue,
            .flagPair:
            .error
        case .unknownVariable, .exchangedArguments, .suspiciousText, .equalBranches, .unknownMember, .metadata,
            .encoding, .unusedEvaluator, .percentages, .emptyList, .typeMismatch,
            .constantCondition, .unreachableBranch, .neverMatches, .disabledTargeting, .killPulled, .stageJump,
            .unknownFlag, .rebucketing, .removedFlag, .version, .unchecked:
            .warning
        }
    }
}
