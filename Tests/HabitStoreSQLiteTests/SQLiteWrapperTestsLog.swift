import Foundation

/// Numbers that several threads append. `@unchecked`: guarded by `lock`.
final class SQLiteWrapperLog: @unchecked Sendable {
    private let lock = NSLock()
    private var noted: [Int] = []

    var values: [Int] { lock.withLock { noted } }

    func append(_ value: Int) { lock.withLock { noted.append(value) } }
}
