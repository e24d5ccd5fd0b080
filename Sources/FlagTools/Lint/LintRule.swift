import FeatureFlags

/// The rules of the linter. Their names are stable; later versions may add rules.
public enum LintRule: String, Sendable, CaseIterable {
    /// The file cannot be read or parsed at all.
    case syntax
    /// A part of the file is not of the form that the format asks for, and the flag cannot be used.
    case schema
    /// A member that the format does not know, and that does nothing.
    case unknownMember = "unknown-member"
    /// Metadata of a type that metadata cannot have.
    case metadata
    /// A name stands twice in one object, or a flag twice in the file; all but the last are lost.
    case duplicateKey = "duplicate-key"
    /// A text or number was changed in reading: a lone surrogate, an integer beyond 64 bits, a byte order mark.
    case encoding
    /// An operator that does not exist.
    case unknownOperator = "unknown-operator"
    /// An operator has arguments that it cannot use.
    case arguments
    /// A variable that does not exist, or whose name is nearly that of one that does.
    case unknownVariable = "unknown-variable"
    /// Arguments in the wrong order.
    case exchangedArguments = "exchanged-arguments"
    /// A comparison of `$flagd.timestamp` with what is not a time in seconds.
    case timestamp
    /// A text that is compared as it stands, and looks as if it was meant otherwise.
    case suspiciousText = "suspicious-text"
    /// Branches, or all entries of a percentage, that give the same.
    case equalBranches = "equal-branches"
    /// A `$ref` to an evaluator that does not exist, or from one evaluator to another.
    case unknownReference = "unknown-reference"
    /// An evaluator that no flag refers to.
    case unusedEvaluator = "unused-evaluator"
    /// The targeting can give a result that is no variant of the flag.
    case unknownVariant = "unknown-variant"
    /// A percentage of something that is the same for everybody, so that it moves all users at once or none.
    case constantBucket = "constant-bucket"
    /// Weights of `fractional` that are all zero, or that it does not take.
    case weights
    /// Weights that look like percentages and do not add up.
    case percentages
    /// `sem_ver` with a version or an operator that is none.
    case invalidVersion = "invalid-version"
    /// `in` looks into something that is empty.
    case emptyList = "empty-list"
    /// A comparison of values that are of different types.
    case typeMismatch = "type-mismatch"
    /// A condition that is never true.
    case constantCondition = "constant-condition"
    /// A branch that is never reached.
    case unreachableBranch = "unreachable-branch"
    /// Targeting that never chooses a variant.
    case neverMatches = "never-matches"
    /// A disabled flag with targeting.
    case disabledTargeting = "disabled-targeting"
    /// A kill flag that cannot kill, or cannot be read out of a damaged file.
    case killFlag = "kill-flag"
    /// A kill flag that is pulled.
    case killPulled = "kill-pulled"
    /// A value that the flag cannot have, such as a stage that does not exist.
    case wrongValue = "wrong-value"
    /// A flag whose key is nearly that of one that is read.
    case unknownFlag = "unknown-flag"
    /// A cohort that would jump over a stage.
    case stageJump = "stage-jump"
    /// A change of weights, of their order, or of what users are bucketed by, that moves users both ways.
    case rebucketing
    /// A flag that the caller reads, and that the version in force has.
    case removedFlag = "removed-flag"
    /// Two flags that must differ and give the same, or that have exchanged their values.
    case flagPair = "flag-pair"
    /// A version of the file that is lower than the one in force, or none where that has one.
    case version
    /// The rules are too much work to check all of them.
    case unchecked

    /// How bad a finding of this rule is, where the finding says nothing else.
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
