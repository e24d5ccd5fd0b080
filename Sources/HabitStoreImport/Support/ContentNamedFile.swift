import DurableFiles
import Foundation

/// A file named after its contents, so that equal contents are stored once.
package enum ContentNamedFile {
    /// Writes the file unless it exists.
    ///
    /// - Parameters:
    ///   - contents: the contents that determine the name.
    ///   - header: written before the contents; it does not affect the name.
    ///   - kind: the prefix of the name.
    ///   - folder: created if it does not exist.
    /// - Returns: the path of the file.
    package static func write(_ contents: Data, behind header: Data = Data(), as kind: String, in folder: String) throws
        -> String
    {
        let path = "\(folder)/\(kind)-\(ContentDigest.of(contents).prefix(16)).jsonl"
        guard !FileManager.default.fileExists(atPath: path) else { return path }
        try WholeFile.makeFolder(folder)
        try FileFailure.told { try DurableFile.replace(path, header + contents) }
        return path
    }
}
