import Foundation

/// What may become of a file while a process has it open.
enum LMDBFileFate: CaseIterable {
    case folderSwapped
    case fileReplacedByACopy
    case fileDeleted

    /// Lets it happen. The file's folder is the test's own.
    func befall(_ path: String) throws {
        let manager = FileManager.default
        let folder = (path as NSString).deletingLastPathComponent
        switch self {
        case .folderSwapped:
            try manager.copyItem(atPath: folder, toPath: folder + "-copy")
            try manager.moveItem(atPath: folder, toPath: folder + "-away")
            try manager.moveItem(atPath: folder + "-copy", toPath: folder)
        case .fileReplacedByACopy:
            try manager.copyItem(atPath: path, toPath: path + "-copy")
            try manager.removeItem(atPath: path)
            try manager.moveItem(atPath: path + "-copy", toPath: path)
        case .fileDeleted:
            try manager.removeItem(atPath: path)
        }
    }
}
