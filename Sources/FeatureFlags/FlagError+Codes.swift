/// OpenFeature's error codes, from the types page of its specification.
extension FlagError.Code {
    /// No flags have been loaded yet.
    public static var providerNotReady: Self { Self(rawValue: "PROVIDER_NOT_READY") }
    /// The file has no flag of this key.
    public static var flagNotFound: Self { Self(rawValue: "FLAG_NOT_FOUND") }
    /// The file, or this flag in it, cannot be understood.
    public static var parseError: Self { Self(rawValue: "PARSE_ERROR") }
    /// The flag's value is of another type than the one asked for.
    public static var typeMismatch: Self { Self(rawValue: "TYPE_MISMATCH") }
    /// The evaluation needs a targeting key and the context has none.
    public static var targetingKeyMissing: Self { Self(rawValue: "TARGETING_KEY_MISSING") }
    /// The evaluation context cannot be used.
    public static var invalidContext: Self { Self(rawValue: "INVALID_CONTEXT") }
    /// The provider cannot recover.
    public static var providerFatal: Self { Self(rawValue: "PROVIDER_FATAL") }
    /// Anything else: the targeting gave a result that names no variant.
    public static var general: Self { Self(rawValue: "GENERAL") }
}

/// Codes of this module's own, for a file that was not even read. OpenFeature has none for them.
extension FlagError.Code {
    /// There is no file at the path.
    public static var fileNotFound: Self { Self(rawValue: "FILE_NOT_FOUND") }
    /// The path is a directory, a pipe or a device.
    public static var notAFile: Self { Self(rawValue: "NOT_A_FILE") }
    /// The operating system refused to open or to read the file.
    public static var fileUnreadable: Self { Self(rawValue: "FILE_UNREADABLE") }
    /// The file is larger than ``FlagLimits/fileSizeBytes``.
    public static var fileTooLarge: Self { Self(rawValue: "FILE_TOO_LARGE") }
}
