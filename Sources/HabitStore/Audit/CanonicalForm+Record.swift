import Foundation

@_spi(Engines) extension CanonicalForm {
    /// Writes an encoded record: the form that digests are kept over.
    func write(_ record: RecordView, _ layout: RecordLayout) throws {
        begin()
        for (position, kind) in layout.kinds.enumerated() {
            if record.isNull(at: position) {
                appendNull()
                continue
            }
            let bytes = try record.rawBytes(at: position)
            switch kind {
            case .bool: append(bool: bytes[0] != 0)
            case .int: append(int: Int64(littleEndian: bytes.loadUnaligned(as: Int64.self)))
            case .double: append(bits: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)), tag: .double)
            case .date: append(bits: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)), tag: .date)
            case .uuid: append(uuid: bytes.loadUnaligned(as: UUID.self))
            case .string: append(bytes: bytes, tag: .text)
            case .data: append(bytes: bytes, tag: .data)
            case .strings: append(texts: try RecordView.texts(bytes))
            case .links: append(links: try RecordView.links(bytes))
            }
        }
    }

    /// Writes a record's values, for comparing a store whose engine has no audit cursor.
    public func write(_ values: [Value]) {
        begin()
        append(values)
    }

    /// Appends values.
    public func append(_ values: [Value]) {
        for value in values {
            switch value {
            case .null: appendNull()
            case .bool(let flag): append(bool: flag)
            case .int(let number): append(int: number)
            case .double(let number): append(bits: number.bitPattern, tag: .double)
            case .date(let date): append(bits: date.timeIntervalSinceReferenceDate.bitPattern, tag: .date)
            case .uuid(let id): append(uuid: id)
            case .string(let text): append(text: text)
            case .data(let data): data.withUnsafeBytes { append(bytes: $0, tag: .data) }
            case .strings(let texts): append(texts: texts)
            case .links(let links): append(links: links)
            }
        }
    }

    private func append(text: String) {
        var text = text
        text.withUTF8 { append(bytes: UnsafeRawBufferPointer($0), tag: .text) }
    }

    /// Writes a list of texts.
    public func append(texts: [String]) {
        beginList(.texts, count: texts.count)
        for var text in texts { text.withUTF8 { appendItem(UnsafeRawBufferPointer($0)) } }
    }

    /// Writes links.
    public func append(links: [UUID]) {
        beginList(.links, count: links.count)
        for link in links { appendLink(link) }
    }
}
