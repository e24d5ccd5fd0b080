import ArgumentParser
import CSystemFaults
import Foundation

/// What the system refuses a process of the tangle now and then.
enum TangleTrouble: String, CaseIterable, ExpressibleByArgument {
    /// More open files than there are.
    case descriptors
    /// More address space than there is.
    case memory
    /// Files that grow beyond some size.
    case fileSize
    /// Room for a file, changes of it, or anything that has to do with it.
    case full, readOnly, broken

    /// The number of the error that calls fail with; nil where a limit of the process makes them fail.
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

    /// Whether a process can be given it here.
    var isPossible: Bool { limit.map { $0.used != nil } ?? system_faults_are_supported() }
}
