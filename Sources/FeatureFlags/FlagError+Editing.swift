/// Codes for changes of flag files. OpenFeature has none for them.
extension FlagError.Code {
    /// The change cannot be made to this file; the file is unchanged.
    public static var editRefused: Self { Self(rawValue: "EDIT_REFUSED") }
    /// The file cannot be written; it is unchanged.
    public static var fileUnwritable: Self { Self(rawValue: "FILE_UNWRITABLE") }
    /// Another process has been changing the file for too long.
    public static var fileBusy: Self { Self(rawValue: "FILE_BUSY") }
}
