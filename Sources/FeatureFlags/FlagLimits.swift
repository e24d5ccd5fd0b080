/// The stated limits of a flag file.
public enum FlagLimits {
    /// The largest file that is read, in bytes: 16 MiB.
    public static let fileSizeBytes = 16 << 20
    /// How deep rules may stand in rules. A deeper rule quarantines its flag.
    public static let ruleDepth = 64
    /// How deep arrays and objects may stand in each other. A deeper file is refused as a whole: four levels lie
    /// around a rule, each operator takes two, and the rest is room for object variants.
    public static let jsonDepth = 256
    /// The longest number that is read, in bytes.
    public static let numberLengthBytes = 1024
    /// How many warnings are kept for one file.
    public static let warnings = 200
}
