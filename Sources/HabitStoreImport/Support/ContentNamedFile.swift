import DurableFiles
import Foundation

/// A file whose name follows from what is in it: the same contents leave the same file, once.
package enum ContentNamedFile {
    /// Writes the file, unless it is there.
    ///
    /// - Parameters:
    ///   - contents: what the name follows from.
    ///   - header: what stands before it in the file, and is no part of the name.
    ///   - kind: what the name begins with.
    ///   - folder: made where there is none.
    /// - Returns: the file's path.
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
