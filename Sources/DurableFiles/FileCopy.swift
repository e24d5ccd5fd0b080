import Foundation

/// Copies the bytes of a file into one that only its owner can read. Holes that the file system reports remain holes in the copy,
/// so that a long but sparse file is copied as fast as its contents.
package enum FileCopy {
    /// - Throws: a ``FileFailure`` with the path of the file that could not be read or written.
    package static func copy(_ source: String, to target: String) throws {
        let input = try OpenFile(source, O_RDONLY)
        let output = try OpenFile(target, O_RDWR | O_CREAT | O_TRUNC)
        try input.forEachChunk(skipsHoles: true) { bytes, position in
            try output.write(bytes, at: position)
            return true
        }
        try output.truncate(to: try input.status().st_size)
    }

    /// Whether every byte of a file from an offset on is 0.
    package static func isZero(_ path: String, from start: off_t) throws -> Bool {
        var isZero = true
        try OpenFile(path, O_RDONLY).forEachChunk(in: start..<off_t.max, skipsHoles: true) { bytes, _ in
            isZero = bytes.allSatisfy { $0 == 0 }
            return isZero
        }
        return isZero
    }
}
