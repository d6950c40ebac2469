// PTX files are bundled as text.
declare module "*.ptx" {
  const text: string;
  export default text;
}
