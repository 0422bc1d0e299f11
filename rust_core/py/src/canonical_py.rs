//! Canonical JSON and hashes of Python values and of JSON text.

use std::ops::Deref;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::dict::BoundDictIterator;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use steelyard_core::canonical::{self, Writer};
use steelyard_core::error::{Place, Refusal};
use steelyard_core::hash::Hex;
use steelyard_core::{Error, hash};

use crate::errors::to_python;

/// Bytes of JSON text from which parsing takes about a millisecond. Below, keeping the GIL is
/// cheaper: taking it back from a busy thread can cost a whole switch interval, 5 ms.
const RELEASE_PARSING: usize = 512 * 1024;

/// Bytes from which hashing takes about a millisecond.
const RELEASE_HASHING: usize = 1024 * 1024;

/// Bytes of text that most values take at least.
const EXPECTED: usize = 1024;

/// Paths in errors are cut here: a hostile value can nest long keys a thousand deep.
const MAX_PATH: usize = 256;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(canonical_json, module)?)?;
    module.add_class::<Members>()?;
    module.add_function(wrap_pyfunction!(canonical_record, module)?)?;
    module.add_function(wrap_pyfunction!(canonicalize, module)?)?;
    module.add_function(wrap_pyfunction!(hash_object, module)?)?;
    module.add_function(wrap_pyfunction!(hash_json, module)?)?;
    module.add_function(wrap_pyfunction!(sha256_hex, module)?)?;
    module.add_function(wrap_pyfunction!(hash_contexts, module)?)?;
    module.add_function(wrap_pyfunction!(hash_contexts_packed, module)?)
}

/// Canonical JSON of a value made of None, bool, int, float, str, list, tuple and dict with str keys.
#[pyfunction]
#[pyo3(signature = (value, /))]
fn canonical_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(value.py(), &write_value(value, None)?))
}

/// What is written of the objects of a type: attributes and their keys.
#[pyclass(frozen, module = "steelyard._core")]
struct Members(Vec<Attribute>);

struct Attribute {
    name: Py<PyString>,
    key: String,
    /// The key and its colon as canonical JSON has them.
    written: Vec<u8>,
}

#[pymethods]
impl Members {
    #[new]
    #[pyo3(signature = (members, /))]
    fn new(py: Python<'_>, members: Vec<(Py<PyString>, String)>) -> PyResult<Self> {
        let mut attributes = Vec::with_capacity(members.len());
        for (name, key) in members {
            let mut writer = Writer::default();
            writer.string(&key);
            let refused = |refusal: Refusal| to_python(py, &refusal(Place::Path(key.clone())));
            let mut written = writer.finish().map_err(refused)?;
            written.push(b':');
            attributes.push(Attribute { name, key, written });
        }
        attributes.sort_by(|a, b| a.key.encode_utf16().cmp(b.key.encode_utf16()));
        if let Some(pair) = attributes.windows(2).find(|pair| pair[0].key == pair[1].key) {
            return Err(to_python(py, &Error::DuplicateKey(Place::Path(pair[0].key.clone()))));
        }
        Ok(Self(attributes))
    }
}

/// Canonical JSON of a value in which objects of other types stand for objects of JSON:
/// `members_of(type)` gives what is written of an instance, or None for a mapping.
#[pyfunction]
#[pyo3(signature = (value, members_of, /))]
fn canonical_record<'py>(
    value: &Bound<'py, PyAny>,
    members_of: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(value.py(), &write_value(value, Some(members_of))?))
}

/// Canonical form of a JSON text in UTF-8.
#[pyfunction]
#[pyo3(signature = (json, /))]
fn canonicalize(py: Python<'_>, json: Input) -> PyResult<Bound<'_, PyBytes>> {
    Ok(PyBytes::new(py, &with_canonical(py, &json, |text| text)?))
}

/// Lower-case hexadecimal SHA-256 of the canonical JSON of a value.
#[pyfunction]
#[pyo3(signature = (value, /))]
fn hash_object<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    Ok(text(value.py(), hash::sha256_hex(&write_value(value, None)?)))
}

/// Lower-case hexadecimal SHA-256 of the canonical form of a JSON text in UTF-8.
#[pyfunction]
#[pyo3(signature = (json, /))]
fn hash_json(py: Python<'_>, json: Input) -> PyResult<Bound<'_, PyString>> {
    Ok(text(py, with_canonical(py, &json, |text| hash::sha256_hex(&text))?))
}

/// Lower-case hexadecimal SHA-256 of bytes.
#[pyfunction]
#[pyo3(signature = (data, /))]
fn sha256_hex(py: Python<'_>, data: Input) -> Bound<'_, PyString> {
    let release = data.len() >= RELEASE_HASHING;
    text(py, release_if(py, release, || hash::sha256_hex(&data)))
}

/// Lower-case hexadecimal SHA-256 of each context.
#[pyfunction]
#[pyo3(signature = (contexts, /))]
fn hash_contexts<'py>(contexts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = contexts.py();
    let digests = hash_all(contexts)?;
    PyList::new(py, digests.iter().map(|digest| PyString::new(py, Hex::new(digest).as_str())))
}

/// SHA-256 of each context, 32 raw bytes each, one after the other.
#[pyfunction]
#[pyo3(signature = (contexts, /))]
fn hash_contexts_packed<'py>(contexts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(contexts.py(), hash_all(contexts)?.as_flattened()))
}

fn text(py: Python<'_>, digits: Hex) -> Bound<'_, PyString> {
    PyString::new(py, digits.as_str())
}

fn hash_all(contexts: &Bound<'_, PyAny>) -> PyResult<Vec<[u8; 32]>> {
    let owners: PyResult<Vec<_>> = match contexts.cast::<PyList>() {
        Ok(list) => list.iter().map(shared_bytes).collect(),
        Err(_) => contexts.try_iter()?.map(|context| shared_bytes(context?)).collect(),
    };
    let owners = owners?;
    let slices: Vec<&[u8]> = owners.iter().map(|owner| owner.as_bytes()).collect();
    let total: usize = slices.iter().map(|slice| slice.len()).sum();
    Ok(release_if(contexts.py(), total >= RELEASE_HASHING, || hash::sha256_all(&slices)))
}

/// The bytes of a bytes-like object. `bytes` are shared; other buffers are copied, since their owner
/// could change them while the GIL is released.
fn shared_bytes(object: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyBytes>> {
    object.cast_into::<PyBytes>().or_else(|other| {
        let object = other.into_inner();
        let py = object.py();
        Ok(PyBytes::new(py, &PyBuffer::<u8>::get(&object)?.to_vec(py)?))
    })
}

/// `then` of the canonical form of a JSON text.
fn with_canonical<T: Send>(
    py: Python<'_>,
    json: &[u8],
    then: impl Fn(Vec<u8>) -> T + Send,
) -> PyResult<T> {
    release_if(py, json.len() >= RELEASE_PARSING, || canonical::canonicalize(json).map(then))
        .map_err(|error| to_python(py, &error))
}

/// A bytes-like argument.
struct Input(PyBackedBytes);

impl<'a, 'py> FromPyObject<'a, 'py> for Input {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(shared_bytes(object.to_owned())?.into()))
    }
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

fn release_if<T: Send>(py: Python<'_>, release: bool, work: impl FnOnce() -> T + Send) -> T {
    if release { py.detach(work) } else { work() }
}

/// A container of which some elements are written.
enum Frame<'py> {
    List(Bound<'py, PyList>, usize),
    Tuple(Bound<'py, PyTuple>, usize),
    Dict(BoundDictIterator<'py>, Option<Bound<'py, PyString>>),
    /// An object of another type, its members, and how many of them have begun.
    Record(Bound<'py, PyAny>, Bound<'py, Members>, usize),
}

/// Gives the members of a type that has no JSON of its own.
type MembersOf<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

fn write_value<'py>(
    value: &Bound<'py, PyAny>,
    members_of: MembersOf<'_, 'py>,
) -> PyResult<Vec<u8>> {
    let mut frames = Vec::new();
    let mut writer = Writer::with_capacity(EXPECTED);
    walk(value, members_of, &mut writer, &mut frames)
        .and_then(|()| writer.finish().map_err(Failure::Refused))
        .map_err(|failure| match failure {
            Failure::Python(error) => error,
            Failure::Refused(refusal) => to_python(value.py(), &refusal(path(&frames))),
            Failure::Unsupported(what) => {
                to_python(value.py(), &Error::UnsupportedType(path(&frames), what))
            }
        })
}

enum Failure {
    Python(PyErr),
    Refused(Refusal),
    Unsupported(String),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Writes a value; after a failure, `frames` lead to the offending element.
fn walk<'py>(
    value: &Bound<'py, PyAny>,
    members_of: MembersOf<'_, 'py>,
    writer: &mut Writer,
    frames: &mut Vec<Frame<'py>>,
) -> Result<(), Failure> {
    let mut current = value.clone();
    loop {
        if let Some(frame) = begin(&current, members_of, writer)? {
            frames.push(frame);
        }
        current = loop {
            let Some(frame) = frames.last_mut() else {
                return Ok(());
            };
            let next = match frame {
                Frame::List(list, at) => element(at, list.len(), |at| list.get_item(at), writer)?,
                Frame::Tuple(tuple, at) => {
                    element(at, tuple.len(), |at| tuple.get_item(at), writer)?
                }
                Frame::Dict(items, last) => member(items, last, writer)?,
                Frame::Record(object, members, at) => attribute(object, members.get(), at, writer)?,
            };
            match next {
                Some(next) => break next,
                None => {
                    frames.pop();
                    writer.end().map_err(|(refusal, _)| refusal)?;
                }
            }
        };
    }
}

/// Writes a scalar, or begins a container.
fn begin<'py>(
    value: &Bound<'py, PyAny>,
    members_of: MembersOf<'_, 'py>,
    writer: &mut Writer,
) -> Result<Option<Frame<'py>>, Failure> {
    // Tests of a flag or an address first, then those that call.
    if let Ok(text) = value.cast::<PyString>() {
        writer.string(utf8(text)?);
    } else if let Ok(flag) = value.cast::<PyBool>() {
        writer.bool(flag.is_true());
    } else if let Ok(number) = value.cast::<PyInt>() {
        writer.integer(number.extract().map_err(|_| Error::IntegerOutOfRange as Refusal)?)?;
    } else if value.is_none() {
        writer.null();
    } else if let Ok(dict) = value.cast::<PyDict>() {
        writer.begin_object()?;
        // Reading an attribute can run code; nobody else can change a copy while it is walked.
        let items = if members_of.is_some() { dict.copy()?.iter() } else { dict.iter() };
        return Ok(Some(Frame::Dict(items, None)));
    } else if let Ok(list) = value.cast::<PyList>() {
        writer.begin_array()?;
        return Ok(Some(Frame::List(list.clone(), 0)));
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        writer.begin_array()?;
        return Ok(Some(Frame::Tuple(tuple.clone(), 0)));
    } else if let Ok(number) = value.cast::<PyFloat>() {
        writer.float(number.value())?;
    } else if let Some(members_of) = members_of {
        writer.begin_object()?;
        let members = members_of.call1((value.get_type(),))?;
        if members.is_none() {
            let dict = PyDict::new(value.py());
            dict.update(value.cast::<PyMapping>().map_err(PyErr::from)?)?;
            return Ok(Some(Frame::Dict(dict.iter(), None)));
        }
        let members = members.cast_into().map_err(PyErr::from)?;
        return Ok(Some(Frame::Record(value.clone(), members, 0)));
    } else {
        return Err(Failure::Unsupported(format!("value of type {}", value.get_type().name()?)));
    }
    Ok(None)
}

/// The next element of a sequence; asking for one past its end would cost an exception.
fn element<'py>(
    at: &mut usize,
    len: usize,
    item: impl FnOnce(usize) -> PyResult<Bound<'py, PyAny>>,
    writer: &mut Writer,
) -> Result<Option<Bound<'py, PyAny>>, Failure> {
    if *at >= len {
        return Ok(None);
    }
    let element = item(*at)?;
    writer.begin_element();
    *at += 1;
    Ok(Some(element))
}

fn member<'py>(
    items: &mut BoundDictIterator<'py>,
    last: &mut Option<Bound<'py, PyString>>,
    writer: &mut Writer,
) -> Result<Option<Bound<'py, PyAny>>, Failure> {
    *last = None;
    let Some((key, value)) = items.next() else {
        return Ok(None);
    };
    let Ok(key) = key.cast_into::<PyString>() else {
        return Err(Failure::Unsupported("key that is not a string".to_owned()));
    };
    write_key(&key, writer)?;
    *last = Some(key);
    Ok(Some(value))
}

fn attribute<'py>(
    object: &Bound<'py, PyAny>,
    members: &Members,
    at: &mut usize,
    writer: &mut Writer,
) -> Result<Option<Bound<'py, PyAny>>, Failure> {
    let Some(member) = members.0.get(*at) else {
        return Ok(None);
    };
    *at += 1;
    writer.sorted_key(&member.written);
    Ok(Some(object.getattr(member.name.bind(object.py()))?))
}

fn write_key(key: &Bound<'_, PyString>, writer: &mut Writer) -> Result<(), Failure> {
    writer.begin_key(0)?;
    writer.string(utf8(key)?);
    Ok(writer.end_key()?)
}

fn utf8<'a>(text: &'a Bound<'_, PyString>) -> Result<&'a str, Failure> {
    text.to_str().map_err(|error| {
        if error.is_instance_of::<PyUnicodeEncodeError>(text.py()) {
            Failure::Refused(Error::LoneSurrogate)
        } else {
            Failure::Python(error)
        }
    })
}

/// The JSON path of the element that the frames lead to, such as `$.cases[3]["a b"]`.
fn path(frames: &[Frame<'_>]) -> Place {
    let mut path = "$".to_owned();
    for frame in frames {
        if path.len() > MAX_PATH {
            path.push('\u{2026}');
            break;
        }
        match frame {
            // The index of the next element: one more than that of the last.
            Frame::List(_, at) | Frame::Tuple(_, at) => {
                if let Some(at) = at.checked_sub(1) {
                    path.push_str(&format!("[{at}]"));
                }
            }
            Frame::Dict(_, Some(key)) => push_key(&mut path, key.to_str().unwrap_or_default()),
            Frame::Dict(_, None) => {}
            Frame::Record(_, members, at) => {
                if let Some(member) = at.checked_sub(1).and_then(|at| members.get().0.get(at)) {
                    push_key(&mut path, &member.key);
                }
            }
        }
    }
    Place::Path(path)
}

fn push_key(path: &mut String, key: &str) {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.starts_with(|c: char| !c.is_ascii_digit()) && key.chars().all(plain) {
        path.push('.');
        path.push_str(key);
        return;
    }
    let mut quoted = Writer::default();
    let shown: String = key.chars().take(MAX_PATH).collect();
    quoted.string(&shown);
    let quoted = quoted.finish().unwrap_or_default();
    path.push('[');
    path.push_str(&String::from_utf8_lossy(&quoted));
    path.push(']');
}
