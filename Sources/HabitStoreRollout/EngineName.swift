import HabitStore

/// The engines, by the names that flag files and addresses use.
public enum EngineName: String, Sendable, Hashable, Codable, CaseIterable {
    /// SQLite.
    case sqlite
    /// LMDB.
    case lmdb

    /// The name of a user's store file with this engine.
    var fileName: String { "store.\(rawValue)" }

    /// The other one.
    public var other: EngineName { self == .sqlite ? .lmdb : .sqlite }
}
