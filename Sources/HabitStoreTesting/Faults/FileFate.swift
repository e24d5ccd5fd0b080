import Foundation

/// What can happen to a store's file while a process has it open.
public enum FileFate: CaseIterable, Sendable {
    /// A copy of the folder replaced the folder, as when a backup is restored.
    case folderSwapped
    /// A copy of the file replaced the file.
    case fileReplacedByACopy
    /// The file was deleted.
    case fileDeleted

    /// Does it to the file, whose folder belongs to the test.
    public func befall(_ path: String) throws {
        let manager = FileManager.default
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        switch self {
        case .folderSwapped:
            try manager.copyItem(atPath: folder, toPath: folder + "-copy")
            try manager.moveItem(atPath: folder, toPath: folder + "-away")
            try manager.moveItem(atPath: folder + "-copy", toPath: folder)
        case .fileReplacedByACopy:
            try manager.copyItem(atPath: path, toPath: path + "-copy")
            try manager.removeItem(atPath: path)
            try manager.moveItem(atPath: path + "-copy", toPath: path)
        case .fileDeleted: try manager.removeItem(atPath: path)
        }
    }
}
