/// A key and its value, in the map.
///
/// Both point into the file's map: they are valid until the transaction ends or, in a write transaction, until its next write. Copy
/// what must live longer.
struct LMDBRecord {
    let key: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
}
