import ArgumentParser
import CSystemFaults
import Foundation

/// A trouble that a process of the tangle sweep causes itself now and then: system calls that fail.
enum TangleTrouble: String, CaseIterable, ExpressibleByArgument {
    /// Too many open files.
    case descriptors
    /// Too much address space.
    case memory
    /// Files that grow beyond some size.
    case fileSize
    /// No space for a file, no changes to it, or any access to it.
    case full, readOnly, broken

    /// The error number of failing calls; nil if a limit of the process makes them fail.
    var error: Int32? {
        switch self {
        case .descriptors, .memory, .fileSize: nil
        case .full: ENOSPC
        case .readOnly: EROFS
        case .broken: EIO
        }
    }

    /// The limit that makes calls fail.
    var limit: ResourceLimit? {
        switch self {
        case .descriptors: .descriptors
        case .memory: .memory
        case .fileSize: .fileSize
        case .full, .readOnly, .broken: nil
        }
    }

    /// Whether this system supports it.
    var isPossible: Bool { limit.map { $0.used != nil } ?? system_faults_are_supported() }
}
