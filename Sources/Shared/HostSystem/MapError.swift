/// Evaluates an operation and converts the error that it throws.
///
///     let text = try mapError(DurableFile.read(path, atMost: 65_536), to: LabError.file)
@discardableResult
package func mapError<Result: ~Copyable, Cause, Failure>(
    _ operation: @autoclosure () throws(Cause) -> Result,
    to convert: (Cause) -> Failure
) throws(Failure) -> Result {
    do throws(Cause) { return try operation() } catch { throw convert(error) }
}
