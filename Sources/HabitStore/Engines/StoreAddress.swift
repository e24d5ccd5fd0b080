import Foundation

/// Where a store is and which engine it needs: `sqlite:PATH`, `lmdb:PATH`, or what another engine calls a place.
public struct StoreAddress: Sendable, Hashable, CustomStringConvertible {
    /// The engine.
    public let engine: EngineName
    /// The file; or what an engine that keeps no files has in its place.
    public let path: String

    /// Names a store.
    public init(_ engine: EngineName, path: String) {
        self.engine = engine
        self.path = path
    }

    /// `ENGINE:PATH`.
    public var description: String { "\(engine.rawValue):\(path)" }

    /// The first bytes of a file, which identify its engine.
    static func head(ofFileAt path: String) throws -> Data {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw HabitStoreError(.notFound, "there is no store here", at: .init(path: path))
        }
        guard !isDirectory.boolValue else {
            throw HabitStoreError(.notAStore, "this is a folder; name the store's file in it", at: .init(path: path))
        }
        // Reading from a pipe would wait for ever.
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(.notAStore, "this is a device or a pipe; name a file", at: .init(path: path))
        }
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw HabitStoreError(.permissionDenied, "the file cannot be read", at: .init(path: path))
        }
        defer { try? file.close() }
        do {
            return try file.read(upToCount: 32) ?? Data()
        } catch {
            throw HabitStoreError(.inputOutput, "the file cannot be read", at: .init(path: path), underlying: error)
        }
    }
}
