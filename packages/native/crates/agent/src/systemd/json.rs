//! D-Bus values as JSON: numbers, texts, booleans, lists of them, and objects for dictionaries of texts. A list of bytes
//! (an id, a hash) is a text of hex digits.

use std::collections::HashMap;

use serde_json::Value;
use zbus::wire::Type;
use zbus::{OwnedVariant, Variant};

/// What GetAll gives.
pub type Properties = HashMap<String, OwnedVariant>;

/// A value as JSON. Descriptors have none.
pub fn to_json(value: &Variant<'_>) -> Value {
    match value {
        Variant::U8(number) => (*number).into(),
        Variant::Bool(truth) => (*truth).into(),
        Variant::I16(number) => (*number).into(),
        Variant::U16(number) => (*number).into(),
        Variant::I32(number) => (*number).into(),
        Variant::U32(number) => (*number).into(),
        Variant::I64(number) => (*number).into(),
        Variant::U64(number) => (*number).into(),
        Variant::F64(number) => (*number).into(),
        Variant::Str(text) => text.as_str().into(),
        Variant::Signature(signature) => signature.to_string().into(),
        Variant::ObjectPath(path) => path.as_str().into(),
        Variant::Variant(inner) => to_json(inner),
        Variant::Array(array) if array.element_signature() == u8::SIGNATURE => array
            .iter()
            .map(|byte| if let Variant::U8(byte) = byte { format!("{byte:02x}") } else { String::new() })
            .collect::<String>()
            .into(),
        Variant::Array(array) => array.iter().map(to_json).collect(),
        Variant::Structure(fields) => fields.fields().iter().map(to_json).collect(),
        Variant::Dict(dict) => {
            let entries = dict.iter().map(|(key, value)| match key {
                Variant::Str(text) => (text.as_str().to_owned(), to_json(value)),
                other => (to_json(other).to_string(), to_json(value)),
            });
            Value::Object(entries.collect())
        }
        Variant::Fd(_) => Value::Null,
    }
}
