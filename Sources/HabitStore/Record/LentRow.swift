import Foundation

/// A row as filters read it: what an ``AttributeReader`` points to, valid as long as that is lent. It never leaves the evaluation
/// of a filter.
struct LentRow: RecordAccess {
    let bytes: UnsafeRawBufferPointer
    let columns: Unmanaged<AttributeColumns>?
    unowned(unsafe) let layout: RecordLayout

    func value(at position: Int) throws -> Value {
        if bytes.baseAddress == nil, let columns { return try columns.lent { try $0.value(position) } }
        return try RecordView(trusting: bytes, layout: layout).value(at: position)
    }
}
