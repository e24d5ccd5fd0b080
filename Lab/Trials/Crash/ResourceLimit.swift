import Foundation
import HabitStore

/// A system limit on a process, which the process lowers for a while.
enum ResourceLimit {
    case descriptors, memory, fileSize

    /// Sets the limit.
    ///
    /// - Returns: the previous limit.
    @discardableResult
    func set(_ value: UInt64) throws -> UInt64 {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { throw Self.error("read") }
        let before = UInt64(limit.rlim_cur)
        limit.rlim_cur = rlim_t(clamping: value)
        guard setrlimit(resource, &limit) == 0 else { throw Self.error("set") }
        return before
    }

    #if canImport(Glibc)
    private var resource: __rlimit_resource_t {
        switch self {
        case .descriptors: __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        case .memory: __rlimit_resource_t(RLIMIT_AS.rawValue)
        case .fileSize: __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        }
    }
    #else
    private var resource: Int32 {
        switch self {
        case .descriptors: RLIMIT_NOFILE
        case .memory: RLIMIT_AS
        case .fileSize: RLIMIT_FSIZE
        }
    }
    #endif

    /// This process's current usage; nil if the system does not report it.
    var used: UInt64? {
        switch self {
        case .descriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")).map { UInt64($0.count) }
        case .memory:
            (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))
                .flatMap { UInt64($0.prefix { $0 != " " }) }.map { $0 * UInt64(getpagesize()) }
        case .fileSize: 0
        }
    }

    private static func error(_ what: String) -> HabitStoreError {
        HabitStoreError(.inputOutput, "cannot \(what) a limit of the process: \(String(cString: strerror(errno)))")
    }
}
