//! D-Bus values as JSON: numbers, texts, booleans and lists of them.

use std::collections::HashMap;

use serde_json::Value;
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
        Variant::Array(array) => array.iter().map(to_json).collect(),
        Variant::Structure(fields) => fields.fields().iter().map(to_json).collect(),
        Variant::Dict(dict) => {
            dict.iter().map(|(key, value)| Value::from(vec![to_json(key), to_json(value)])).collect()
        }
        Variant::Fd(_) => Value::Null,
    }
}
