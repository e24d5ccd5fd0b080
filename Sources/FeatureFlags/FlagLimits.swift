/// The stated limits of flag files and of evaluations.
public enum FlagLimits {
    /// The largest file that is read, in bytes: 16 MiB.
    public static let fileSizeBytes = 16 << 20
    /// The largest file that is read as YAML, in bytes: 1 MiB. YAML is slower to read than JSON.
    public static let yamlSizeBytes = 1 << 20
    /// How many aliases (`*name`) a YAML file may have. With more, a small file could stand for an endless one.
    public static let yamlAliases = 16
    /// How many values the aliases and merge keys of a YAML file may add to those that stand in it. A file with more is
    /// refused as a whole.
    public static let yamlRepeatedValues = 10_000
    /// How deep rules may stand in rules. A deeper rule quarantines its flag.
    public static let ruleDepth = 64
    /// How many operators and computed lists a flag's rule may have, evaluators included. A larger rule quarantines its
    /// flag.
    public static let ruleSize = 10_000
    /// How many values the `$evaluators` of a file may have, each evaluator counted again at every `$ref` to it. The flag
    /// whose reference exceeds it is quarantined.
    public static let sharedValues = 2_000_000
    /// How much work an evaluation may be, in steps: about one for each operator that is evaluated, each element of a
    /// list that is gone through, and each 64 bytes of a text that are read. A longer evaluation is an error.
    public static let evaluationWork = 100_000
    /// How deep arrays and objects may stand in each other. A deeper file is refused as a whole: four levels lie
    /// around a rule, each operator takes two, and the rest is room for object variants.
    public static let jsonDepth = 256
    /// How many values a file may have. A file with more is refused as a whole.
    public static let jsonValues = 1_000_000
    /// The longest number that is read, in bytes. A longer one quarantines its flag.
    public static let numberLengthBytes = 1024
    /// How many warnings are kept for one file.
    public static let warnings = 200
    /// How many definitions of a kill flag are kept that were read out of damaged files, one after the other.
    public static let salvagedDefinitions = 16
    /// How many steps an explanation of an evaluation has at most.
    public static let traceSteps = 1_000
    /// How many symbolic links a watched path may lead through.
    public static let linkDepth = 40
}
